// The sums of blocks, as the documentation of crates/fingerprint defines them.

typedef struct {
    ulong address;
    uint bytes;
    uint number;
} Block;

// Any alignment will do.
typedef struct __attribute__((packed)) {
    uint4 words;
} Piece;

#define LANES 64u
#define PIECE_BYTES 16u
#define ROW_BYTES (LANES * PIECE_BYTES)
#define MULTIPLIER 0x9e3779b1u
#define CLOSING_STEPS 6

static inline uint mix(uint word) {
    return (word ^ word >> 15) * MULTIPLIER;
}

static inline uint4 step(uint4 a, uint4 w) {
    uint m0 = mix((a.x ^ w.x) + a.y);
    uint m1 = mix(a.y ^ w.y);
    uint m2 = mix((a.z ^ w.z) + a.w);
    uint m3 = mix(a.w ^ w.w);
    return (uint4)(m1, m2, m3, m0);
}

// The sum over the lanes of the wave, in all of them.
static inline uint add_lanes(uint word, uint lane) {
    for (uint distance = 1; distance < LANES; distance *= 2)
        word += __builtin_amdgcn_ds_bpermute((lane ^ distance) * 4, word);
    return word;
}

__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void strobe_fingerprint(global const Block *blocks, global uint4 *sums) {
    uint lane = __builtin_amdgcn_workitem_id_x();
    uint group = __builtin_amdgcn_workgroup_id_x();
    Block block = blocks[group];
    global const uchar *piece = (global const uchar *)block.address + lane * PIECE_BYTES;

    uint key = block.number * LANES + lane;
    uint4 a = (uint4)(0x243f6a88u + key, 0x85a308d3u, 0x13198a2eu, 0x03707344u);
    uint rows = block.bytes / ROW_BYTES;
#pragma unroll 8
    for (uint row = 0; row < rows; row++) {
        a = step(a, ((global const Piece *)piece)->words);
        piece += ROW_BYTES;
    }
    uint rest = block.bytes % ROW_BYTES;
    uint at = lane * PIECE_BYTES;
    if (at < rest) {
        uint left = rest - at;
        uint w[4] = {0, 0, 0, 0};
        for (uint n = 0; n < PIECE_BYTES; n++)
            if (n < left)
                w[n / 4] |= (uint)piece[n] << (n % 4 * 8);
        a = step(a, (uint4)(w[0], w[1], w[2], w[3]));
    }
    if (rows > 0 || at < rest) {
        for (int n = 0; n < CLOSING_STEPS; n++)
            a = step(a, (uint4)key);
    } else {
        a = (uint4)0;
    }
    a.x = add_lanes(a.x, lane);
    a.y = add_lanes(a.y, lane);
    a.z = add_lanes(a.z, lane);
    a.w = add_lanes(a.w, lane);
    if (lane == 0)
        sums[group] = a;
}
