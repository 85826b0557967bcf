/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that include quarry/device.h, compiled at run time by NVRTC: for the oldest and a newer
 * architecture, with the switch, which has all allocators' code, and with direct calls, without a word from the
 * compiler.  On a GPU they also run, with direct calls to each allocator. */
#include "common.h"

#include <cuda_runtime_api.h>
#include <nvrtc.h>

#define THREADS 4096u

struct job {
    struct quarry_handle heap;
    uint64_t *blocks; /* of each thread, live at the end */
};

/* The compiler sees struct job of its own, as in a program whose kernels come as text. */
static const char kernels[] = "#include \"quarry/device.h\"\n"
                              "struct job {\n"
                              "    struct quarry_handle heap;\n"
                              "    uint64_t *blocks;\n"
                              "};\n"
                              "SIMT_KERNEL(fill, struct job, a)\n"
                              "{\n"
                              "    uint32_t *block = (uint32_t *)quarry_malloc(a.heap, 40);\n"
                              "    if (block)\n"
                              "        block[9] = simt_thread();\n"
                              "    a.blocks[simt_thread()] = (uint64_t)block;\n"
                              "}\n"
                              "SIMT_KERNEL(release, struct job, a)\n"
                              "{\n"
                              "    uint32_t *block = (uint32_t *)a.blocks[simt_thread()];\n"
                              "    a.blocks[simt_thread()] = block && block[9] == simt_thread();\n"
                              "    quarry_free(a.heap, block);\n"
                              "}\n";

#define assert_nvrtc(call)                                                                                   \
    do {                                                                                                     \
        nvrtcResult assert_result = (call);                                                                  \
        if (assert_result != NVRTC_SUCCESS)                                                                  \
            fail_msg("%s: %s", #call, nvrtcGetErrorString(assert_result));                                   \
    } while (0)

#define assert_cuda(call)                                                                                    \
    do {                                                                                                     \
        cudaError_t assert_result = (call);                                                                  \
        if (assert_result != cudaSuccess)                                                                    \
            fail_msg("%s: %s", #call, cudaGetErrorString(assert_result));                                    \
    } while (0)

/* Compiles a source without a word from the compiler, with one more option unless NULL.  `target` is "sm", for machine
 * code, which the caller frees, or "compute", for PTX: that says as much and takes half the time, and NULL is
 * returned. */
static void *compile(const char *text, const char *target, uint32_t capability, const char *option)
{
    char architecture[32];
    const char *options[4] = {architecture, "-I" QUARRY_INCLUDE};
    int count = 2;
    if (option)
        options[count++] = option;
#ifdef QUARRY_NVRTC_QUICK /* nobody can run it here */
    options[count++] = QUARRY_NVRTC_QUICK;
#endif
    snprintf(architecture, sizeof architecture, "-arch=%s_%u", target, capability);
    nvrtcProgram program;
    assert_nvrtc(nvrtcCreateProgram(&program, text, "source.cu", 0, NULL, NULL));
    nvrtcResult result = nvrtcCompileProgram(program, count, options);

    /* NVRTC has no option that makes all warnings errors. */
    size_t bytes = 0;
    assert_nvrtc(nvrtcGetProgramLogSize(program, &bytes));
    char *log = (char *)calloc(bytes + 1, 1);
    assert_non_null(log);
    assert_nvrtc(nvrtcGetProgramLog(program, log));
    if (result != NVRTC_SUCCESS || log[0] != '\0')
        fail_msg("%s %s: %s\n%s", architecture, option ? option : "", nvrtcGetErrorString(result), log);
    free(log);

    void *binary = NULL;
    if (strcmp(target, "sm") == 0) {
        assert_nvrtc(nvrtcGetCUBINSize(program, &bytes));
        assert_true(bytes > 0);
        binary = malloc(bytes);
        assert_non_null(binary);
        assert_nvrtc(nvrtcGetCUBIN(program, (char *)binary));
    }
    assert_nvrtc(nvrtcDestroyProgram(&program));
    return binary;
}

/* For each allocator what compiles direct calls to it. */
static const char *const direct[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, ...) "-DQUARRY_ALLOCATOR=" #id,
#include "quarry/alloc/list.def"
};

static void launch(cudaLibrary_t library, const char *name, const struct quarry_target *target,
                   const struct job *job)
{
    cudaKernel_t loaded;
    assert_cuda(cudaLibraryGetKernel(&loaded, library, name));
    const void *handle = (const void *)loaded;
    const struct simt_kernel kernel = {name, NULL, &handle, sizeof *job, 0, NULL};
    test_run(&kernel, target, THREADS / 256, 256, 0, job);
}

/* Fills a heap of that allocator by one kernel and empties it by the other. */
static void run(const struct quarry_target *target, const void *binary,
                const struct quarry_allocator_info *allocator)
{
    const uint64_t live = allocator->counts_slots ? THREADS : 0;
    static uint64_t results[THREADS];
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_statistics statistics;
    cudaLibrary_t library;
    quarry_heap *heap;
    options.target = *target;
    options.allocator = allocator->name;
    /* A page of 4096 bytes for each thread.  The platform's own heap can't grow any more once a kernel ran. */
    options.pool_bytes = allocator->counts_slots ? 64 << 20 : 8 << 20;
    assert_ok(quarry_heap_create(&heap, &options));
    struct job job = {quarry_heap_handle(heap), (uint64_t *)test_memory(target, sizeof results)};
    assert_cuda(cudaLibraryLoadData(&library, binary, NULL, NULL, 0, NULL, NULL, 0));

    launch(library, "fill", target, &job);
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(statistics.live_blocks, live);
    launch(library, "release", target, &job);
    assert_ok(quarry_memory_copy(target, results, job.blocks, sizeof results));
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(results[i], 1);
    assert_ok(quarry_heap_statistics(heap, &statistics));
    assert_int_equal(statistics.live_blocks, 0);
    assert_ok(quarry_heap_check(heap));

    assert_cuda(cudaLibraryUnload(library));
    test_memory_free(target, job.blocks, sizeof results);
    assert_ok(quarry_heap_destroy(heap));
}

static void compiles(void **state)
{
    (void)state;
    free(compile(kernels, "sm", 75, direct[0]));
    compile(kernels, "compute", 75, NULL);
    compile(kernels, "compute", 90, "-DNDEBUG");
}

#ifdef QUARRY_CUDA_STD_INCLUDE
/* Both declare the names of <stdint.h>. */
static void goes_with_cuda_std(void **state)
{
    (void)state;
    compile("#include <cuda/std/cstdint>\n#include \"quarry/device.h\"\n", "compute", 90,
            "-I" QUARRY_CUDA_STD_INCLUDE);
    compile("#include \"quarry/device.h\"\n#include <cuda/std/cstdint>\n", "compute", 90,
            "-I" QUARRY_CUDA_STD_INCLUDE);
}
#endif

static void runs(void **state)
{
    (void)state;
    struct quarry_target target = test_target();
    struct quarry_device_info device;
    if (!test_on_cuda(&target))
        skip();
    assert_ok(quarry_device_describe(&target, &device));
    void *with_switch = compile(kernels, "sm", device.capability, NULL);
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info allocator;
        assert_ok(quarry_allocator_describe(i, &allocator));
        run(&target, with_switch, &allocator);
        void *without = compile(kernels, "sm", device.capability, direct[i]);
        run(&target, without, &allocator);
        free(without);
    }
    free(with_switch);
}

int main(void)
{
    (void)test_target(); /* skips here where the backend can't be used */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles),
#ifdef QUARRY_CUDA_STD_INCLUDE
        cmocka_unit_test(goes_with_cuda_std),
#endif
        cmocka_unit_test(runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
