#pragma once
// Marks of functions that nvcc compiles for a device, or for host and device; empty for other compilers.

#ifdef __CUDACC__
#define PENSTOCK_DEVICE __device__
#define PENSTOCK_BOTH __host__ __device__
#else
#define PENSTOCK_DEVICE
#define PENSTOCK_BOTH
#endif
