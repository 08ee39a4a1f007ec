// The agent's copies inside the device.

// Work-items of a group; the host computes grids with the same number.
#define GROUP 256

// Vectors that a work-item moves in one turn: enough loads in flight to hide the latency.
#define UNROLLED 4

// Copies `bytes` bytes between places that do not overlap, by `groups` groups. Any address will do;
// multiples of 16 are fast.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void copy(global uchar *to, global const uchar *from, ulong bytes, uint groups) {
    const ulong lane = __builtin_amdgcn_workitem_id_x();
    const ulong group = __builtin_amdgcn_workgroup_id_x();
    const bool aligned = (((ulong)to | (ulong)from) & 15) == 0;
    const ulong vectors = aligned ? bytes / 16 : 0;
    global uint4 *to16 = (global uint4 *)to;
    global const uint4 *from16 = (global const uint4 *)from;
    ulong first = group * GROUP * UNROLLED;
    for (; first + GROUP * UNROLLED <= vectors; first += (ulong)groups * GROUP * UNROLLED) {
        uint4 held[UNROLLED];
        #pragma unroll
        for (uint turn = 0; turn < UNROLLED; turn++) {
            held[turn] = from16[first + turn * GROUP + lane];
        }
        #pragma unroll
        for (uint turn = 0; turn < UNROLLED; turn++) {
            to16[first + turn * GROUP + lane] = held[turn];
        }
    }
    // What is less than a full turn falls to one group: the one whose turn it is.
    if (first < vectors) {
        for (ulong at = first + lane; at < vectors; at += GROUP) {
            to16[at] = from16[at];
        }
    }
    for (ulong at = vectors * 16 + group * GROUP + lane; at < bytes; at += (ulong)groups * GROUP) {
        to[at] = from[at];
    }
}

// Says that everything before it in its queue is done: whoever waits for `word` to reach `ticket`
// may go on. Another device, and the host, see it.
__attribute__((reqd_work_group_size(1, 1, 1)))
kernel void publish(global uint *word, uint ticket) {
    __opencl_atomic_store((volatile global atomic_uint *)word, ticket, memory_order_release,
                          memory_scope_all_svm_devices);
}
