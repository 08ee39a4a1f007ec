//~ missed writes {[0x1001104000, 0x1001104004)} not predicted; predicted {[0x1001130000, 0x1001138000)}
//~ flags -O1 -fwrapv
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 32768 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ buffer 256 65536 0 0
//~ argument 0 8 0+16384
//~ argument 8 8 2+16392
//~ argument 16 8 0+16896
//~ argument 24 8 0+0
//~ argument 32 8 0+0
//~ argument 40 8 0+0
//~ argument 48 8 0+24384
//~ argument 56 4 0
//~ argument 64 8 0+24384
//~ argument 72 8 0+24384
//~ argument 80 8 0
//~ argument 88 8 0+16384
//~ argument 96 8 0
//~ argument 104 8 0+24384
//~ argument 112 8 0
//~ argument 120 8 0+16392
//~ argument 128 8 0
//~ argument 136 4 0
//~ argument 140 4 0
//~ argument 144 8 0
//~ argument 152 1 0
//~ argument 154 2 0
//~ argument 156 4 0
//~ argument 160 8 0+-4
//~ grid 1 1 1 block 1 1 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __noinline__ __attribute__((noinline))
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;
typedef unsigned long long u64; typedef long long i64;
struct Record { int* p; i64 k; };
struct Pair { int* p; int n; int* q; };
struct Records { Record r[4]; };
struct Four { int x[4]; };
#define tid() ((int)__builtin_amdgcn_workitem_id_x())
#define group() ((int)__builtin_amdgcn_workgroup_id_x())
#define group_size() ((int)__builtin_amdgcn_workgroup_size_x())
#define gid() (group() * group_size() + tid())
#define groups() ((int)(__builtin_amdgcn_grid_size_x() / (u32)group_size()))
#define shuffle(value, lane) __builtin_amdgcn_ds_bpermute((lane) << 2, value)
#define ballot(value) __builtin_amdgcn_uicmp(value, 0, 33)

extern "C" __global__ void k0(int* a, int* b, short* h, Record* table, int** pointers, u64* words,
    Pair s, Records rs, int m, u32 n, i64 l, signed char c, u16 d, u32 small, int* before) {
    __shared__ int lds[64];
    int v0 = m, v1 = tid(); u32 v2 = 3; i64 v3 = m - 5; int i0 = 0, i1 = 0, i2 = 0, x = 0;
    int *p0 = a, *p1 = b, *p2 = a; int* slots[4] = {a, b, b, a};
    int w0 = 0, w1 = 0, w2 = 0; u64 word = 0; (void)x; (void)word;
    ((int*)((tid()) ? b : ({ char* y = (char*)a; char* z = (char*)b; i64 way = y - z; __asm__("" : "+v"(way)); (int*)(z + way); })))[tid()] = (int)0;
}
