// A training program as people run them: a small language classifier on made-up text.
//
// Deterministic: two runs with the same arguments write the same weights and the same log, bit
// for bit. Each step writes `step N loss BITS` to the log; the first line tells the sizes.
//
//   train [--state-mb N] [--steps N] [--seed N] [--out FILE] [--log FILE]

#include <rocrand/rocrand.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "elementwise.h"
#include "embedding.h"
#include "matmul.h"
#include "parameters.h"
#include "rows.h"

#define CHECK_RAND(call)                                                          \
    do {                                                                          \
        rocrand_status status_ = (call);                                          \
        if (status_ != ROCRAND_STATUS_SUCCESS) {                                  \
            fprintf(stderr, "%s:%d: %s: rocRAND status %d\n", __FILE__, __LINE__, \
                    #call, static_cast<int>(status_));                            \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

struct Arguments {
    unsigned state_mb = 32;
    unsigned steps = 20;
    unsigned seed = 1;
    std::string out;
    std::string log;
};

static unsigned parse_number(const char* name, const char* text, unsigned low, unsigned high) {
    char* end = nullptr;
    unsigned long value = strtoul(text, &end, 10);
    if (*text == 0 || *end != 0 || value < low || value > high) {
        fprintf(stderr, "train: %s: %s is not a number from %u to %u\n", name, text, low, high);
        exit(2);
    }
    return static_cast<unsigned>(value);
}

static Arguments parse(int argc, char** argv) {
    Arguments a;
    for (int i = 1; i < argc; i += 2) {
        std::string name = argv[i];
        if (i + 1 == argc) {
            fprintf(stderr, "train: %s wants a value\n", argv[i]);
            exit(2);
        }
        if (name == "--state-mb") a.state_mb = parse_number(argv[i], argv[i + 1], 1, 1024);
        else if (name == "--steps") a.steps = parse_number(argv[i], argv[i + 1], 1, 1u << 30);
        else if (name == "--seed") a.seed = parse_number(argv[i], argv[i + 1], 0, 1u << 30);
        else if (name == "--out") a.out = argv[i + 1];
        else if (name == "--log") a.log = argv[i + 1];
        else {
            fprintf(stderr, "train: unknown option %s\n", argv[i]);
            exit(2);
        }
    }
    return a;
}

struct FeedForward {
    Tensor norm_gain, norm_bias, up, up_bias, down, down_bias;
    float *x, *normed, *mean, *scale, *before, *after, *uniform;
};

class Trainer {
  public:
    explicit Trainer(const Arguments& arguments)
        : arguments_(arguments), parameters_(arguments.seed), text_state_(arguments.seed) {
        bool small = arguments.state_mb < 8;
        dim_.width = small ? 32 : 128;
        dim_.hidden = small ? 64 : 384;
        CHECK(hipStreamCreate(&compute_));
        CHECK(hipStreamCreateWithFlags(&copy_, hipStreamNonBlocking));
        CHECK(hipEventCreateWithFlags(&batch_ready_, hipEventDisableTiming));
        CHECK(hipEventCreateWithFlags(&batch_used_, hipEventDisableTiming));
        CHECK(hipEventCreate(&loss_ready_));
        create_parameters();
        create_activations();
        create_tables();
        CHECK_RAND(rocrand_create_generator(&random_, ROCRAND_RNG_PSEUDO_PHILOX4_32_10));
        CHECK_RAND(rocrand_set_seed(random_, arguments.seed));
        CHECK_RAND(rocrand_set_stream(random_, compute_));
        OptimizerState start = {0, 1.0f, 1.0f, 0.0f, 1.0f};
        CHECK(hipMemcpyToSymbol(HIP_SYMBOL(optimizer), &start, sizeof(start)));
        CHECK(hipEventRecord(batch_used_, compute_));
        CHECK(hipDeviceSynchronize());
    }

    size_t elements() const { return parameters_.elements(); }

    float step(unsigned number) {
        load_batch();
        void* scores = nullptr;
        CHECK(hipMallocAsync(&scores, 3 * kTokens * kTokens * sizeof(float), compute_));
        scores_ = static_cast<float*>(scores);
        forward();
        backward();
        update();
        CHECK(hipFreeAsync(scores, compute_));
        CHECK(hipMemcpyAsync(host_loss_, loss_, sizeof(float), hipMemcpyDeviceToHost, compute_));
        CHECK(hipEventRecord(loss_ready_, compute_));
        if (number % 8 == 7) evaluate();
        CHECK(hipEventSynchronize(loss_ready_));
        return *host_loss_;
    }

    unsigned long long finish() {
        unsigned long long sum = 0;
        unsigned long long* device_sum = nullptr;
        CHECK(hipMalloc(&device_sum, sizeof(sum)));
        CHECK(hipMemset(device_sum, 0, sizeof(sum)));
        CHECK(hipStreamSynchronize(compute_));
        for (const Tensor& t : parameters_.all()) {
            checksum<<<4, kThreads, 0, compute_>>>(t.weight, t.elements, device_sum);
        }
        CHECK(hipStreamSynchronize(compute_));
        CHECK(hipMemcpy(&sum, device_sum, sizeof(sum), hipMemcpyDeviceToHost));
        CHECK(hipFree(device_sum));
        if (!arguments_.out.empty()) parameters_.save(arguments_.out.c_str());
        CHECK_RAND(rocrand_destroy_generator(random_));
        parameters_.release();
        return sum;
    }

  private:
    float* allocate(size_t elements) {
        float* pointer = nullptr;
        CHECK(hipMalloc(&pointer, elements * sizeof(float)));
        CHECK(hipMemset(pointer, 0, elements * sizeof(float)));
        return pointer;
    }

    void create_parameters() {
        int w = dim_.width, h = dim_.hidden;
        size_t dense = 4 * w * w + kLayers * (2 * w * h + h + 3 * w) + w * kClasses + 4 * w +
                       kTokens * w;
        size_t total = static_cast<size_t>(arguments_.state_mb) * (1 << 20) / Parameters::kBytesEach;
        dim_.rows_per_shard = static_cast<unsigned>((total - dense) / w / kShards);
        for (int i = 0; i < kShards; ++i) {
            Tensor t = parameters_.add(static_cast<size_t>(dim_.rows_per_shard) * w, 0.5f);
            embedding_.rows[i] = t.weight;
            embedding_gradient_.rows[i] = t.gradient;
        }
        embedding_.rows_per_shard = embedding_gradient_.rows_per_shard = dim_.rows_per_shard;
        positions_ = parameters_.add(kTokens * w, 0.1f);
        attention_gain_ = parameters_.add(w, 0.0f, 1.0f);
        attention_bias_ = parameters_.add(w, 0.0f);
        float scale = 1.0f / sqrtf(static_cast<float>(w));
        for (Tensor* t : {&query_, &key_, &value_, &output_}) *t = parameters_.add(w * w, scale);
        for (FeedForward& f : layers_) {
            f.norm_gain = parameters_.add(w, 0.0f, 1.0f);
            f.norm_bias = parameters_.add(w, 0.0f);
            f.up = parameters_.add(w * h, scale);
            f.up_bias = parameters_.add(h, 0.0f);
            f.down = parameters_.add(w * h, 1.0f / sqrtf(static_cast<float>(h)));
            f.down_bias = parameters_.add(w, 0.0f);
        }
        final_gain_ = parameters_.add(w, 0.0f, 1.0f);
        final_bias_ = parameters_.add(w, 0.0f);
        head_ = parameters_.add(w * kClasses, scale);
    }

    void create_activations() {
        int w = kTokens * dim_.width, h = kTokens * dim_.hidden;
        for (FeedForward& f : layers_) {
            f.x = allocate(w);
            f.normed = allocate(w);
            f.mean = allocate(kTokens);
            f.scale = allocate(kTokens);
            f.before = allocate(h);
            f.after = allocate(h);
            f.uniform = allocate(h);
        }
        for (float** p : {&embedded_, &attention_normed_, &q_, &k_, &v_, &mixed_, &projected_,
                          &last_, &final_normed_, &dx_, &dnormed_, &dq_, &dk_, &dv_, &dmixed_}) {
            *p = allocate(w);
        }
        dhidden_ = allocate(h);
        logits_ = allocate(kTokens * kClasses);
        probabilities_ = allocate(kTokens * kClasses);
        for (float** p : {&attention_mean_, &attention_scale_, &final_mean_, &final_scale_,
                          &losses_, &loss_}) {
            *p = allocate(kTokens);
        }
        buckets_ = reinterpret_cast<unsigned*>(allocate(kBuckets));
        hits_ = reinterpret_cast<unsigned*>(allocate(1));
        CHECK(hipMalloc(&tokens_, 2 * kTokens * sizeof(int)));
        CHECK(hipHostMalloc(&host_batch_, 2 * kTokens * sizeof(int), 0));
        CHECK(hipHostMalloc(&host_loss_, sizeof(float), 0));
    }

    void create_tables() {
        std::vector<Tensor> small;
        for (const Tensor& t : parameters_.all()) {
            (t.elements < 16384 ? small : large_).push_back(t);
        }
        table_count_ = static_cast<int>(small.size());
        table_blocks_ = number_blocks(small);
        CHECK(hipMalloc(&table_, small.size() * sizeof(Tensor)));
        CHECK(hipMemcpy(table_, small.data(), small.size() * sizeof(Tensor),
                        hipMemcpyHostToDevice));
        std::vector<Tensor> dense(parameters_.all().begin() + kShards, parameters_.all().end());
        norm_count_ = static_cast<int>(dense.size());
        CHECK(hipMalloc(&norm_table_, dense.size() * sizeof(Tensor)));
        CHECK(hipMemcpy(norm_table_, dense.data(), dense.size() * sizeof(Tensor),
                        hipMemcpyHostToDevice));
        norm_partial_ = allocate(dense.size());
    }

    // Made-up text: a token decides the class of its successor, with some noise.
    void load_batch() {
        CHECK(hipEventSynchronize(batch_used_));
        unsigned vocabulary = dim_.rows_per_shard * kShards;
        for (int i = 0; i < kTokens; ++i) {
            text_state_ = text_state_ * 6364136223846793005ull + 1442695040888963407ull;
            unsigned draw = static_cast<unsigned>(text_state_ >> 33);
            unsigned range = draw % 4 == 0 ? vocabulary : vocabulary / 16 + 1;
            unsigned token = (draw >> 2) % range;
            host_batch_[i] = static_cast<int>(token);
            host_batch_[kTokens + i] = static_cast<int>((token * 2654435761u >> 24) % kClasses);
        }
        CHECK(hipMemcpyAsync(tokens_, host_batch_, 2 * kTokens * sizeof(int),
                             hipMemcpyHostToDevice, copy_));
        count_tokens<<<1, kTokens, 0, copy_>>>(tokens_, buckets_, kBuckets);
        CHECK(hipEventRecord(batch_ready_, copy_));
        CHECK(hipStreamWaitEvent(compute_, batch_ready_, 0));
    }

    void nn(const float* a, const float* b, float* c, int m, int n, int k) {
        dim3 grid(blocks_for(n, kTile), blocks_for(m, kTile));
        matmul_nn<<<grid, dim3(kTile, kTile), 0, compute_>>>(a, b, c, m, n, k);
    }
    void nt(const float* a, const float* b, float* c, int m, int n, int k, bool accumulate) {
        dim3 grid(blocks_for(n, kTile), blocks_for(m, kTile));
        matmul_nt<<<grid, dim3(kTile, kTile), 0, compute_>>>(a, b, c, m, n, k, accumulate);
    }
    void tn(const float* a, const float* b, float* c, int m, int n, int k) {
        dim3 grid(blocks_for(n, kTile), blocks_for(m, kTile));
        matmul_tn<<<grid, dim3(kTile, kTile), 0, compute_>>>(a, b, c, m, n, k);
    }

    void forward() {
        int w = dim_.width, h = dim_.hidden, wide = kTokens * w, hidden = kTokens * h;
        unsigned wide_blocks = blocks_for(wide, kThreads), hidden_blocks = blocks_for(hidden, kThreads);
        embed_tokens<<<kTokens, kRowThreads, 0, compute_>>>(embedding_, tokens_, embedded_, w);
        add_positions<<<wide_blocks, kThreads, 0, compute_>>>(embedded_, positions_.weight, wide);
        layer_norm<<<kTokens, kRowThreads, 0, compute_>>>(
            embedded_, attention_gain_.weight, attention_bias_.weight, attention_normed_,
            attention_mean_, attention_scale_, w);
        nn(attention_normed_, query_.weight, q_, kTokens, w, w);
        nn(attention_normed_, key_.weight, k_, kTokens, w, w);
        nn(attention_normed_, value_.weight, v_, kTokens, w, w);
        float* attention = scores_ + kTokens * kTokens;
        nt(q_, k_, scores_, kTokens, kTokens, w, false);
        causal_softmax<<<kTokens, kRowThreads, 0, compute_>>>(scores_, attention, kTokens,
                                                              attention_temperature());
        nn(attention, v_, mixed_, kTokens, w, kTokens);
        nn(mixed_, output_.weight, projected_, kTokens, w, w);
        add_residual<<<wide_blocks, kThreads, 0, compute_>>>(embedded_, projected_, layers_[0].x,
                                                             wide);
        for (int i = 0; i < kLayers; ++i) {
            FeedForward& f = layers_[i];
            float* next = i + 1 < kLayers ? layers_[i + 1].x : last_;
            layer_norm<<<kTokens, kRowThreads, 0, compute_>>>(f.x, f.norm_gain.weight,
                                                              f.norm_bias.weight, f.normed, f.mean,
                                                              f.scale, w);
            nn(f.normed, f.up.weight, f.before, kTokens, h, w);
            bias_gelu<<<hidden_blocks, kThreads, 0, compute_>>>(f.before, f.up_bias.weight,
                                                                f.after, hidden, h);
            CHECK_RAND(rocrand_generate_uniform(random_, f.uniform, hidden));
            dropout<<<hidden_blocks, kThreads, 0, compute_>>>(f.after, f.uniform, hidden);
            nn(f.after, f.down.weight, projected_, kTokens, w, h);
            add_residual_and_bias<<<wide_blocks, kThreads, 0, compute_>>>(
                f.x, projected_, f.down_bias.weight, next, wide, w);
        }
        layer_norm<<<kTokens, kRowThreads, 0, compute_>>>(last_, final_gain_.weight,
                                                          final_bias_.weight, final_normed_,
                                                          final_mean_, final_scale_, w);
        nn(final_normed_, head_.weight, logits_, kTokens, kClasses, w);
        cross_entropy<<<kTokens, kRowThreads, 0, compute_>>>(logits_, tokens_ + kTokens,
                                                             probabilities_, losses_, kClasses);
        mean_loss<<<1, kRowThreads, 0, compute_>>>(losses_, loss_);
        CHECK(hipGetLastError());
    }

    void norm_backward(const float* dout, const float* x, const Tensor& gain, const Tensor& bias,
                       const float* mean, const float* scale, bool accumulate) {
        int w = dim_.width;
        layer_norm_parameter_gradient<<<blocks_for(w, kThreads), kThreads, 0, compute_>>>(
            dout, x, mean, scale, gain.gradient, bias.gradient, kTokens, w);
        layer_norm_gradient<<<kTokens, kRowThreads, 0, compute_>>>(dout, x, gain.weight, mean,
                                                                   scale, dx_, w, accumulate);
    }

    void backward() {
        int w = dim_.width, h = dim_.hidden, wide = kTokens * w, hidden = kTokens * h;
        unsigned hidden_blocks = blocks_for(hidden, kThreads);
        unsigned width_blocks = blocks_for(w, kThreads);
        cross_entropy_gradient<<<blocks_for(kTokens * kClasses, kThreads), kThreads, 0, compute_>>>(
            probabilities_, tokens_ + kTokens, kTokens, kClasses);
        tn(final_normed_, probabilities_, head_.gradient, w, kClasses, kTokens);
        nt(probabilities_, head_.weight, dnormed_, kTokens, w, kClasses, false);
        norm_backward(dnormed_, last_, final_gain_, final_bias_, final_mean_, final_scale_, false);
        for (int i = kLayers - 1; i >= 0; --i) {
            FeedForward& f = layers_[i];
            bias_gradient<<<width_blocks, kThreads, 0, compute_>>>(dx_, f.down_bias.gradient,
                                                                   kTokens, w);
            tn(f.after, dx_, f.down.gradient, h, w, kTokens);
            nt(dx_, f.down.weight, dhidden_, kTokens, h, w, false);
            dropout_gradient<<<hidden_blocks, kThreads, 0, compute_>>>(dhidden_, f.uniform, hidden);
            bias_gelu_gradient<<<hidden_blocks, kThreads, 0, compute_>>>(
                f.before, f.up_bias.weight, dhidden_, hidden, h);
            bias_gradient<<<blocks_for(h, kThreads), kThreads, 0, compute_>>>(
                dhidden_, f.up_bias.gradient, kTokens, h);
            tn(f.normed, dhidden_, f.up.gradient, w, h, kTokens);
            nt(dhidden_, f.up.weight, dnormed_, kTokens, w, h, false);
            norm_backward(dnormed_, f.x, f.norm_gain, f.norm_bias, f.mean, f.scale, true);
        }
        float* attention = scores_ + kTokens * kTokens;
        float* dscores = attention + kTokens * kTokens;
        tn(mixed_, dx_, output_.gradient, w, w, kTokens);
        nt(dx_, output_.weight, dmixed_, kTokens, w, w, false);
        nt(dmixed_, v_, scores_, kTokens, kTokens, w, false);
        tn(attention, dmixed_, dv_, kTokens, w, kTokens);
        causal_softmax_gradient<<<kTokens, kRowThreads, 0, compute_>>>(
            attention, scores_, dscores, kTokens, attention_temperature());
        nn(dscores, k_, dq_, kTokens, w, kTokens);
        tn(dscores, q_, dk_, kTokens, w, kTokens);
        tn(attention_normed_, dq_, query_.gradient, w, w, kTokens);
        tn(attention_normed_, dk_, key_.gradient, w, w, kTokens);
        tn(attention_normed_, dv_, value_.gradient, w, w, kTokens);
        nt(dq_, query_.weight, dnormed_, kTokens, w, w, false);
        nt(dk_, key_.weight, dnormed_, kTokens, w, w, true);
        nt(dv_, value_.weight, dnormed_, kTokens, w, w, true);
        norm_backward(dnormed_, embedded_, attention_gain_, attention_bias_, attention_mean_,
                      attention_scale_, true);
        position_gradient<<<blocks_for(wide, kThreads), kThreads, 0, compute_>>>(
            positions_.gradient, dx_, wide);
        size_t shard_bytes = static_cast<size_t>(dim_.rows_per_shard) * w * sizeof(float);
        for (float* gradient : embedding_gradient_.rows) {
            CHECK(hipMemsetAsync(gradient, 0, shard_bytes, compute_));
        }
        embed_gradient_add<<<kTokens, kRowThreads, 0, compute_>>>(embedding_gradient_, tokens_, dx_,
                                                                  w);
        embed_gradient_scale<<<kTokens, kRowThreads, 0, compute_>>>(embedding_gradient_, tokens_, w);
        CHECK(hipEventRecord(batch_used_, compute_));
        CHECK(hipGetLastError());
    }

    void update() {
        gradient_norm_partial<<<norm_count_, kThreads, 0, compute_>>>(norm_table_, norm_partial_);
        advance_optimizer<<<1, 1, 0, compute_>>>(norm_partial_, norm_count_, 0.002f);
        for (size_t first = 0; first < large_.size(); first += kListed) {
            size_t count = std::min<size_t>(kListed, large_.size() - first);
            std::vector<Tensor> part(large_.begin() + first, large_.begin() + first + count);
            unsigned blocks = number_blocks(part);
            TensorList list = {};
            list.count = static_cast<int>(count);
            std::copy(part.begin(), part.end(), list.tensors);
            adam_tensor_list<<<blocks, kThreads, 0, compute_>>>(list);
        }
        adam_pointer_table<<<table_blocks_, kThreads, 0, compute_>>>(table_, table_count_);
        CHECK(hipGetLastError());
    }

    // Memory that comes and goes while training runs.
    void evaluate() {
        float* logits = nullptr;
        size_t bytes = kTokens * kClasses * sizeof(float);
        CHECK(hipMalloc(&logits, bytes));
        CHECK(hipMemcpyAsync(logits, logits_, bytes, hipMemcpyDeviceToDevice, compute_));
        count_hits<<<kTokens, kRowThreads, 0, compute_>>>(logits, tokens_ + kTokens, hits_,
                                                          kClasses);
        CHECK(hipFree(logits));
    }

    float attention_temperature() const { return 1.0f / sqrtf(static_cast<float>(dim_.width)); }

    static constexpr unsigned kBuckets = 1024;

    Arguments arguments_;
    Parameters parameters_;
    Dimensions dim_ = {};
    unsigned long long text_state_;
    hipStream_t compute_ = nullptr, copy_ = nullptr;
    hipEvent_t batch_ready_ = nullptr, batch_used_ = nullptr, loss_ready_ = nullptr;
    rocrand_generator random_ = nullptr;
    Shards embedding_ = {}, embedding_gradient_ = {};
    Tensor positions_, attention_gain_, attention_bias_, query_, key_, value_, output_;
    Tensor final_gain_, final_bias_, head_;
    FeedForward layers_[kLayers];
    std::vector<Tensor> large_;
    Tensor *table_ = nullptr, *norm_table_ = nullptr;
    int table_count_ = 0, norm_count_ = 0;
    unsigned table_blocks_ = 0;
    float *norm_partial_, *scores_, *embedded_, *attention_normed_, *q_, *k_, *v_, *mixed_;
    float *projected_, *last_, *final_normed_, *dx_, *dnormed_, *dq_, *dk_, *dv_, *dmixed_;
    float *dhidden_, *logits_, *probabilities_, *attention_mean_, *attention_scale_;
    float *final_mean_, *final_scale_, *losses_, *loss_, *host_loss_;
    unsigned *buckets_, *hits_;
    int *tokens_, *host_batch_;
};

int main(int argc, char** argv) {
    Arguments arguments = parse(argc, argv);
    FILE* log = arguments.log.empty() ? stdout : fopen(arguments.log.c_str(), "w");
    if (!log) {
        perror(arguments.log.c_str());
        return 1;
    }
    Trainer trainer(arguments);
    fprintf(log, "train parameters %zu state_bytes %zu steps %u\n", trainer.elements(),
            trainer.elements() * Parameters::kBytesEach, arguments.steps);
    fflush(log);
    for (unsigned step = 0; step < arguments.steps; ++step) {
        float loss = trainer.step(step);
        uint32_t bits;
        memcpy(&bits, &loss, sizeof(bits));
        fprintf(log, "step %u loss %08x %.6f\n", step, bits, loss);
        fflush(log);
    }
    fprintf(log, "end checksum %016llx\n", trainer.finish());
    fflush(log);
    return 0;
}
