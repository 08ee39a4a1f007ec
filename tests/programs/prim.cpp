// Algorithms of rocPRIM over the device, in several types and odd sizes: what they leave is compared
// with the same on the host, and a line a round says what it was.
//
//   prim [ROUNDS]
#include <rocprim/rocprim.hpp>

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "array.h"

// Calls an algorithm with as much memory as it wants.
template <class Algorithm>
static void call(Algorithm algorithm) {
    size_t size = 0;
    CHECK(algorithm(nullptr, size));
    Array<char> storage(std::max<size_t>(size, 1));
    CHECK(algorithm(storage.data, size));
    CHECK(hipDeviceSynchronize());
}

#define CALL(name, ...) \
    call([&](void* storage, size_t& size) { return rocprim::name(storage, size, __VA_ARGS__); })

template <class T>
static std::vector<T> numbers(size_t n, unsigned seed, unsigned below) {
    std::vector<T> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = T(mix(unsigned(i) + seed) % below);
    return values;
}

struct Twice {
    template <class T>
    __host__ __device__ T operator()(T value) const {
        return value + value;
    }
};

struct Even {
    template <class T>
    __host__ __device__ bool operator()(T value) const {
        return (long long)value % 2 == 0;
    }
};

// What is summed stays a whole number that a float can hold, in whatever order it is summed.
template <class T>
static void scans(size_t n, unsigned seed) {
    auto values = numbers<T>(n, seed, 7);
    Array<T> in(values), out(n), one(1);
    auto plus = rocprim::plus<T>();
    T sum = std::accumulate(values.begin(), values.end(), T(0));
    CALL(reduce, in.data, one.data, n, plus);
    one.expect("reduce", {sum});
    CALL(reduce, rocprim::make_transform_iterator(in.data, Twice()), one.data, T(5), n, plus);
    one.expect("reduce of an iterator", {T(sum + sum + 5)});
    std::vector<T> expected(n);
    std::partial_sum(values.begin(), values.end(), expected.begin());
    CALL(inclusive_scan, in.data, out.data, n, plus);
    out.expect("inclusive_scan", expected);
    for (size_t i = 0; i < n; ++i) expected[i] = T(expected[i] - values[i] + 3);
    CALL(exclusive_scan, in.data, out.data, T(3), n, plus);
    out.expect("exclusive_scan", expected);
}

template <class T>
static void neighbours(size_t n, unsigned seed) {
    auto values = numbers<T>(n, seed, 7);
    auto keys = numbers<int>(n, seed + 1, 3);
    Array<T> in(values), out(n);
    Array<int> of(keys);
    auto plus = rocprim::plus<T>();
    std::vector<T> expected(n);
    for (size_t i = 0; i < n; ++i) {
        bool same = i > 0 && keys[i] == keys[i - 1];
        expected[i] = T(values[i] + (same ? expected[i - 1] : T(0)));
    }
    CALL(inclusive_scan_by_key, of.data, in.data, out.data, n, plus);
    out.expect("inclusive_scan_by_key", expected);
    std::vector<T> totals;
    std::vector<int> run_keys;
    for (size_t i = 0; i < n; ++i) {
        bool ends = i + 1 == n || keys[i + 1] != keys[i];
        if (ends) totals.push_back(expected[i]), run_keys.push_back(keys[i]);
    }
    Array<int> unique(n);
    Array<unsigned> runs(1);
    CALL(reduce_by_key, of.data, in.data, unsigned(n), unique.data, out.data, runs.data, plus);
    runs.expect("reduce_by_key, count", {unsigned(totals.size())});
    out.expect("reduce_by_key", totals);
    unique.expect("reduce_by_key, keys", run_keys);
    CHECK(rocprim::transform(in.data, out.data, n, Twice()));
    std::transform(values.begin(), values.end(), expected.begin(), Twice());
    out.expect("transform", expected);
    CALL(adjacent_difference, in.data, out.data, n, rocprim::minus<T>());
    std::adjacent_difference(values.begin(), values.end(), expected.begin());
    out.expect("adjacent_difference", expected);
}

// One block, merged blocks and digit after digit are three ways, chosen by size: all of them within
// a few thousand elements.
using Blocks = rocprim::kernel_config<256, 2>;
using Radix = rocprim::radix_sort_config<7, 6, Blocks, Blocks, Blocks, Blocks, 2>;
// The same of a merge sort, of which two ways are for sizes below 2000 and above.
using Merge = rocprim::merge_sort_config<256, 256, 2, 128, 128, 4, 2000>;
// And of segments: few of them are told apart by length already.
using Lengths = rocprim::WarpSortConfig<16, 1, 256, 4, true, 32, 2>;
using Segments = rocprim::segmented_radix_sort_config<4, 4, Blocks, Lengths>;

template <class Key>
static void sorts(size_t n, unsigned seed) {
    auto keys = numbers<Key>(n, seed, 1u << 30);
    auto values = numbers<unsigned>(n, seed + 1, ~0u);
    Array<Key> in(keys), out(n);
    Array<unsigned> with(values), moved(n);
    std::vector<unsigned> order(n);
    std::iota(order.begin(), order.end(), 0);
    auto less = [&](unsigned a, unsigned b) { return keys[a] < keys[b]; };
    std::stable_sort(order.begin(), order.end(), less);
    std::vector<Key> sorted(n);
    std::vector<unsigned> sorted_values(n);
    for (size_t i = 0; i < n; ++i) {
        sorted[i] = keys[order[i]];
        sorted_values[i] = values[order[i]];
    }
    if constexpr (std::is_integral_v<Key>) {
        CALL(radix_sort_pairs<Radix>, in.data, out.data, with.data, moved.data, n);
    } else {
        CALL(merge_sort<Merge>, in.data, out.data, with.data, moved.data, n, rocprim::less<Key>());
    }
    out.expect("sort of pairs, keys", sorted);
    moved.expect("sort of pairs", sorted_values);
    if constexpr (std::is_floating_point_v<Key>) {
        CALL(radix_sort_keys<Radix>, in.data, out.data, n);
        out.expect("radix_sort_keys", sorted);
    }

    // Two sorted halves, and where their elements are in the whole.
    size_t half = n / 2;
    std::vector<Key> halves = keys;
    std::sort(halves.begin(), halves.begin() + half);
    std::sort(halves.begin() + half, halves.end());
    Array<Key> parts(halves);
    CALL(merge, parts.data, parts.data + half, out.data, half, n - half, rocprim::less<Key>());
    out.expect("merge", sorted);
    std::vector<unsigned> places(n);
    for (size_t i = 0; i < n; ++i) {
        places[i] = std::lower_bound(sorted.begin(), sorted.end(), keys[i]) - sorted.begin();
    }
    CALL(lower_bound, out.data, in.data, moved.data, n, n, rocprim::less<Key>());
    moved.expect("lower_bound", places);
}

template <class T>
static void choices(size_t n, unsigned seed) {
    auto values = numbers<T>(n, seed, 5);
    auto chosen = numbers<unsigned char>(n, seed + 1, 2);
    Array<T> in(values), out(n);
    Array<unsigned char> flags(chosen);
    Array<unsigned> count(1), lengths(n);
    std::vector<T> expected, rest;
    for (size_t i = 0; i < n; ++i) (chosen[i] ? expected : rest).push_back(values[i]);
    CALL(select, in.data, flags.data, out.data, count.data, n);
    count.expect("select by flags, count", {unsigned(expected.size())});
    out.expect("select by flags", expected);
    // What is not chosen is put in from the end.
    auto parted = expected;
    parted.insert(parted.end(), rest.rbegin(), rest.rend());
    CALL(partition, in.data, flags.data, out.data, count.data, n);
    out.expect("partition by flags", parted);
    expected.clear();
    std::copy_if(values.begin(), values.end(), std::back_inserter(expected), Even());
    CALL(select, in.data, out.data, count.data, n, Even());
    out.expect("select by predicate", expected);
    expected = values;
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    CALL(unique, in.data, out.data, count.data, n);
    out.expect("unique", expected);
    std::vector<unsigned> run_lengths;
    for (size_t i = 0; i < n; ++i) {
        if (i == 0 || values[i] != values[i - 1]) run_lengths.push_back(0);
        ++run_lengths.back();
    }
    CALL(run_length_encode, in.data, unsigned(n), out.data, lengths.data, count.data);
    out.expect("run_length_encode", expected);
    lengths.expect("run_length_encode, lengths", run_lengths);
    std::vector<unsigned> bins(5);
    for (T value : values) ++bins[size_t(value)];
    Array<unsigned> histogram(5);
    CALL(histogram_even, in.data, unsigned(n), histogram.data, 6u, T(0), T(5));
    histogram.expect("histogram_even", bins);
}

static void segments(size_t n, unsigned seed) {
    auto values = numbers<unsigned>(n, seed, 1000);
    std::vector<unsigned> ends{0};
    while (ends.back() < n) {
        ends.push_back(std::min<size_t>(n, ends.back() + 1 + mix(ends.size()) % 700));
    }
    unsigned segments = ends.size() - 1;
    Array<unsigned> in(values), out(n), offsets(ends), totals(segments);
    std::vector<unsigned> sums(segments), sorted = values;
    for (unsigned s = 0; s < segments; ++s) {
        auto begin = sorted.begin() + ends[s], end = sorted.begin() + ends[s + 1];
        sums[s] = std::accumulate(begin, end, 0u);
        std::sort(begin, end);
    }
    CALL(segmented_reduce, in.data, totals.data, segments, offsets.data, offsets.data + 1,
         rocprim::plus<unsigned>(), 0u);
    totals.expect("segmented_reduce", sums);
    CALL(segmented_radix_sort_keys<Segments>, in.data, out.data, n, segments, offsets.data,
         offsets.data + 1);
    out.expect("segmented_radix_sort_keys", sorted);
}

int main(int argc, char** argv) {
    unsigned rounds = rounds_of(argc, argv, 1);
    const size_t sizes[] = {2501, 17, 9001, 701};
    for (unsigned round = 0; round < rounds; ++round) {
        digest_of_round = 14695981039346656037u;
        size_t n = sizes[round % 4] + round;
        scans<float>(n, round);
        scans<long long>(n, round);
        neighbours<short>(n, round);
        sorts<unsigned>(n, round);
        sorts<double>(n, round);
        choices<int>(n, round);
        segments(n, round);
        say_round(round, digest_of_round);
    }
    return 0;
}
