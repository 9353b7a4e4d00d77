/* Vectors as wide as the machine has them; lanes run along x. VL is the number of floats. */
#include <stdint.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
#endif

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define VL (BYTES / 4)
#define VLD (BYTES / 8)

typedef float vf __attribute__((vector_size(BYTES)));
typedef double vd __attribute__((vector_size(BYTES)));
typedef float unaligned_vf __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef double unaligned_vd __attribute__((vector_size(BYTES), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

INLINE vf load_f(const float *p) { return *(const unaligned_vf *)p; }
INLINE vd load_d(const double *p) { return *(const unaligned_vd *)p; }
INLINE void store_f(float *p, vf v) { *(unaligned_vf *)p = v; }
INLINE void store_d(double *p, vd v) { *(unaligned_vd *)p = v; }

/* The first n lanes only: rows lie end to end, so a whole vector would reach into the next row. */
INLINE void store_some_f(float *p, vf v, long n) { for (long l = 0; l < n && l < VL; l++) p[l] = v[l]; }
INLINE void store_some_d(double *p, vd v, long n) { for (long l = 0; l < n && l < VLD; l++) p[l] = v[l]; }
INLINE void add_some_f(float *p, vf v, long n) { for (long l = 0; l < n && l < VL; l++) p[l] += v[l]; }
INLINE void add_some_d(double *p, vd v, long n) { for (long l = 0; l < n && l < VLD; l++) p[l] += v[l]; }

/* One level of the grid hierarchy. Nodal arrays are [column][plane][component][row][x]; a plane is one row in two
   dimensions. A column belongs to one right-hand side. */
typedef struct {
    long nx, ny, layers;    /* elements along x, rows of elements per layer, layers of elements */
    long kind;              /* 0: moduli, 1: Hadamard moduli of the children, 2: packed matrices */
    long threads, grain;    /* at most so many threads, at least so many values for each */
    long degree, visits;
    long coef_layer;        /* coefficients per layer of elements */
    long apart;             /* from one column to the next */
    const float *coef, *constants;
    float *b, *z, *d;       /* right-hand side, iterate, Chebyshev direction (and residual) */
    float *dinv;            /* kind 0: one number per node, else one per value */
    const int64_t *fixed_start;
    const int32_t *fixed;   /* offsets within the plane of the values held at zero */
    double theta, delta;    /* middle and half width of the Chebyshev interval */
    float weight[4];        /* kind 0: factor of dinv for each component */
} Level;

/* Working memory of one call: `stride` bytes per thread. */
typedef struct { char *memory; long stride; } Scratch;

/* The columns that are worked on. What happens to one of them does not depend on the others. */
typedef struct { long count; const int64_t *which; } Columns;
static const int64_t first_column[1] = {0};
static const Columns one_column = {1, first_column};

static long rows_of(const Level *L) { return DIM == 3 ? L->ny + 1 : 1; }
static long plane_of(const Level *L) { return DOFS * rows_of(L) * (L->nx + 1); }
static int team_of(const Level *L, long columns)
{
    const long useful = plane_of(L) * (L->layers + 1) * columns / L->grain;
    return (int)(useful < 1 ? 1 : useful < L->threads ? useful : L->threads);
}
static long first_of(long n, long part, long parts) { return n * part / parts; }

long lanes(void) { return VL; }
