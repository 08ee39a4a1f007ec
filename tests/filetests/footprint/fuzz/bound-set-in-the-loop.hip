//~ missed x
//~ flags -O2
//~ buffer 65536 65536 0 0
//~ buffer 65536 65536 0 0
//~ argument 0 8 0+0
//~ argument 8 8 1+0
//~ grid 1 1 1 block 1 1 1
#define __global__ __attribute__((global))
extern "C" __global__ void k0(int* x, int* y) {
    for (int i = 0; i < 100; ) {
        int bound = 5;
        if (i >= 4) { y[i] = 1; __asm__ volatile("s_nop 0"); bound = 3; }
        x[16 * i] = i;
        i++;
        if (i == bound) break;
    }
}
