// Records of pointers and numbers: a field chosen at run time is that field of every record.
#include <hip/hip_runtime.h>

struct Record {
    float* data;
    long long kind;
};

//~ memory t = x 0 y 1 x 2 z 3
//~ launch of_a_kind grid=4 block=1 args t=buffer(64) x:buffer(4096) y:buffer(4096) z:buffer(4096)
//~ reads-at-least t[8..64]
//~ writes-at-least y[0..4]
//~ within-writes x[0..4] y[0..4] z[0..4]
extern "C" __global__ void of_a_kind(const Record* t) {
    Record r = t[blockIdx.x];
    if (r.kind == 1) r.data[threadIdx.x] = 1;
}

//~ launch of_a_kind_by_value grid=4 block=1 args { x=buffer(4096) u64(0) y=buffer(4096) u64(1) u64=x u64(2) z=buffer(4096) u64(3) }
//~ writes-at-least y[0..4]
//~ within-writes x[0..4] y[0..4] z[0..4]
struct Four {
    Record r[4];
};
extern "C" __global__ void of_a_kind_by_value(Four four) {
    Record r = four.r[blockIdx.x];
    if (r.kind == 1) r.data[threadIdx.x] = 1;
}

// Numbers that are compared in other ways, and used as an index.
//~ memory t = x 100 y 1000
//~ launch short_ones grid=2 block=1 args t=buffer(32) x:buffer(4096) y:buffer(4096)
//~ writes-at-least x[400..404]
//~ within-writes x[0..4096] y[0..4096]
extern "C" __global__ void short_ones(const Record* t) {
    Record r = t[blockIdx.x];
    if (r.kind <= 64 || r.kind == 100) r.data[r.kind] = 1;
}

// A table whose words are a pointer or a number, by their lowest bit.
//~ memory t = x+1 8 y 24
//~ launch tagged grid=4 block=1 args t=buffer(32) out=buffer(4096) x:buffer(4096) y:buffer(4096)
//~ writes-at-least x[0..8] out[8..16] out[24..32]
extern "C" __global__ void tagged(const unsigned long long* t, char* out) {
    unsigned long long word = t[blockIdx.x];
    if (word & 1) {
        *(unsigned long long*)(word - 1) = 0;
    } else if (word < 4096) {
        *(unsigned long long*)(out + word) = 1;
    }
}

// An index from a by-value table of bytes into a by-value table of pointers.
struct Lists {
    float* data[4];
    int sizes[4];
    unsigned char list_of_block[8];
};
//~ launch lists grid=8 block=1 args { x=buffer(4096) y=buffer(4096) null null u64(4294967300) u64(0) u64(65792) }
//~ reads nothing
//~ within-writes x[0..16] y[0..16]
//~ writes-at-least x[0..4] y[0..4]
extern "C" __global__ void lists(Lists lists) {
    int list = lists.list_of_block[blockIdx.x];
    for (int i = 0; i < 4; ++i) lists.data[list][i] = 1;
}

// Entries of a list that are null are not used, whatever the index.
struct Shards {
    float* rows[4];
};
//~ launch shards grid=192 block=64 args { x=buffer(65536) null y=buffer(65536) null } i32(4000)
//~ within-writes x y
//~ writes-at-least x[16000..16256] y[16000..16256]
extern "C" __global__ void shards(Shards shards, int row) {
    shards.rows[blockIdx.x][row + threadIdx.x] = 1;
}

// One that points to nothing leads to an allocation with an index. (512 before x.)
//~ launch shard_before grid=512 block=256 args buffer=x(65536) { u64(139637976726976) y=buffer(65536) null null } i32(0)
//~ writes-at-least x[0..512] y[0..1024]
extern "C" __global__ void shard_before(Shards shards, int row) {
    shards.rows[blockIdx.x][row + threadIdx.x] = 1;
}
