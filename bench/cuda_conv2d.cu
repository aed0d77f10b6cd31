/* cuda_conv2d.cu - convolutions on the device, arrays there: milliseconds, Tflop/s and the largest
 * error, on the shapes of which cuda_reference.py gives cuDNN's times in the same run. A JSON
 * object a line.
 *
 * Errors are those of entries drawn at random, against sums in double, relative to the sum of
 * magnitudes. Flop count a multiplication and an addition for each product of the definition that
 * a full picture has. im2col_mb: what the unblocked im2col of one picture would take. */
#include <algorithm>
#include <cmath>
#include <vector>

extern "C" {
#include "kernels/conv/engine.h"
}
#include "device.h"
#include "device_timing.cuh"

enum { CHECKS = 200 };

static uint64_t seed = 1;

static uint64_t draw(uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

/* The same random floats here and there. */
struct array {
    std::vector<float> host;
    float *device;
    explicit array(int64_t count, bool random) : host((size_t)count, 0.0f) {
        if (random)
            for (float &v : host) v = (float)draw(1 << 24) * 0x1p-23f - 1.0f;
        must(cudaMalloc((void **)&device, host.size() * sizeof(float)));
        must(cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyDefault));
    }
    ~array() { cudaFree(device); }
    void fetch() {
        must(cudaMemcpy(host.data(), device, host.size() * sizeof(float), cudaMemcpyDefault));
    }
};

struct shape {
    csrec_conv2d conv;
    int64_t out[2];
    int64_t x, w, y; /* entries */
};

/* Sum over the definition of all products for which entry `at` of array `which` (0: Y, 1: dX, 2:
 * dW) counts; strides and dilations are 1 here. */
static void exact(const shape &s, int which, int64_t at, const array &X, const array &W,
                  const array &B, const array &dY, double *sum, double *size) {
    const csrec_conv2d &c = s.conv;
    const int64_t kh = c.kernel[0], kw = c.kernel[1], ci = c.channels_in, co = c.channels_out;
    *sum = which == 0 ? B.host[at / (s.out[0] * s.out[1]) % co] : 0.0;
    *size = std::fabs(*sum);
    auto add = [&](int64_t n, int64_t o, int64_t i, int64_t h, int64_t v, int64_t a, int64_t b) {
        const int64_t p = h + a - c.padding[0], q = v + b - c.padding[1];
        if (p < 0 || q < 0 || p >= c.size[0] || q >= c.size[1]) return;
        const double x = X.host[((n * ci + i) * c.size[0] + p) * c.size[1] + q];
        const double w = W.host[((o * ci + i) * kh + a) * kw + b];
        const double y = dY.host[((n * co + o) * s.out[0] + h) * s.out[1] + v];
        const double value = which == 0 ? x * w : which == 1 ? y * w : x * y;
        *sum += value;
        *size += std::fabs(value);
    };
    const int64_t *out = s.out;
    if (which == 0)
        for (int64_t i = 0; i < ci; i++)
            for (int64_t k = 0; k < kh * kw; k++)
                add(at / out[1] / out[0] / co, at / out[1] / out[0] % co, i, at / out[1] % out[0],
                    at % out[1], k / kw, k % kw);
    if (which == 1)
        for (int64_t o = 0; o < co; o++)
            for (int64_t k = 0; k < kh * kw; k++) {
                const int64_t v = at % c.size[1] + c.padding[1] - k % kw;
                const int64_t h = at / c.size[1] % c.size[0] + c.padding[0] - k / kw;
                if (h < 0 || v < 0 || h >= out[0] || v >= out[1]) continue;
                const int64_t plane = at / c.size[1] / c.size[0];
                add(plane / ci, o, plane % ci, h, v, k / kw, k % kw);
            }
    if (which == 2)
        for (int64_t n = 0; n < c.batch; n++)
            for (int64_t p = 0; p < out[0] * out[1]; p++)
                add(n, at / kw / kh / ci, at / kw / kh % ci, p / out[1], p % out[1], at / kw % kh,
                    at % kw);
}

static double largest_error(const shape &s, int which, array *found, const array &X, const array &W,
                            const array &B, const array &dY) {
    double worst = 0.0;
    found->fetch();
    for (int k = 0; k < (which == 2 ? CHECKS / 10 : CHECKS); k++) {
        double sum, size;
        const int64_t at = (int64_t)draw(found->host.size());
        exact(s, which, at, X, W, B, dY, &sum, &size);
        worst = std::max(worst, std::fabs(found->host[(size_t)at] - sum) / (size + 1e-30));
    }
    return worst;
}

/* Square pictures and kernels, stride 1. */
static shape shape_of(int64_t batch, int64_t in, int64_t channels_out, int64_t side, int64_t kernel,
                      int64_t padding) {
    shape s = {};
    s.conv.batch = batch;
    s.conv.channels_in = in;
    s.conv.channels_out = channels_out;
    for (int a = 0; a < 2; a++) {
        s.conv.size[a] = side;
        s.conv.kernel[a] = kernel;
        s.conv.stride[a] = s.conv.dilation[a] = 1;
        s.conv.padding[a] = padding;
        s.out[a] = side + 2 * padding - kernel + 1;
    }
    s.x = batch * in * side * side;
    s.w = channels_out * in * kernel * kernel;
    s.y = batch * channels_out * s.out[0] * s.out[1];
    return s;
}

static void measure(int64_t batch, int64_t in, int64_t channels_out, int64_t side, int64_t kernel,
                    int64_t padding) {
    csrec_error error;
    const shape s = shape_of(batch, in, channels_out, side, kernel, padding);
    array X(s.x, true), W(s.w, true), B(channels_out, true), dY(s.y, true);
    array Y(s.y, false), dX(s.x, false), dW(s.w, false), dB(channels_out, false);
    csrec_cuda_conv2d_arrays a = {};
    a.X = X.device;
    a.W = W.device;
    a.B = B.device;
    a.dY = dY.device;
    a.Y = Y.device;
    a.dX = dX.device;
    a.dW = dW.device;
    a.dB = dB.device;
    const size_t forward_room = csrec_cuda_conv2d_room(&s.conv, s.out, &a, false);
    const size_t backward_room = csrec_cuda_conv2d_room(&s.conv, s.out, &a, true);
    must(cudaMalloc(&a.scratch, std::max(forward_room, backward_room)));
    csrec_cuda_conv2d_arrays only_dX = a, only_dW = a;
    only_dX.dW = only_dX.dB = only_dW.dX = only_dW.dB = NULL;
    auto backward = [&](const csrec_cuda_conv2d_arrays &arrays) {
        return median_ms(
            [&] { must(csrec_cuda_conv2d_backward(&s.conv, s.out, &arrays, &error), error); });
    };
    const double forward =
        median_ms([&] { must(csrec_cuda_conv2d_forward(&s.conv, s.out, &a, &error), error); });
    const double all = backward(a), x_ms = backward(only_dX), w_ms = backward(only_dW);
    const double flop = 2.0 * (double)s.y * (double)(in * kernel * kernel);
    printf("{\"x\": [%d, %d, %d, %d], \"w\": [%d, %d, %d, %d], \"pad\": %d, \"forward_ms\": %.4f, "
           "\"backward_ms\": %.4f, \"dx_ms\": %.4f, \"dw_ms\": %.4f, \"forward_tflop_s\": %.2f, "
           "\"backward_tflop_s\": %.2f, ",
           (int)batch, (int)in, (int)side, (int)side, (int)channels_out, (int)in, (int)kernel,
           (int)kernel, (int)padding, forward, all, x_ms, w_ms, flop / forward * 1e-9,
           2.0 * flop / all * 1e-9);
    printf("\"error_y\": %.3g, \"error_dx\": %.3g, \"error_dw\": %.3g, \"forward_scratch_mb\": "
           "%.2f, \"backward_scratch_mb\": %.2f, \"im2col_mb\": %.2f}\n",
           largest_error(s, 0, &Y, X, W, B, dY), largest_error(s, 1, &dX, X, W, B, dY),
           largest_error(s, 2, &dW, X, W, B, dY), (double)forward_room * 1e-6,
           (double)backward_room * 1e-6,
           (double)(s.out[0] * s.out[1] * in * kernel * kernel) * 4e-6);
    fflush(stdout);
    must(cudaFree(a.scratch));
}

int main(void) {
    if (bench_no_device()) return 0;
    measure(8, 64, 64, 128, 3, 1);
    measure(1, 64, 1, 512, 8, 4);
    measure(1, 1, 64, 512, 8, 4);
    return 0;
}
