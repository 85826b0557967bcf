/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of heaps ask of CUDA itself.  Without QUARRY_WITH_CUDA: nothing there, nothing wrong. */
#ifndef QUARRY_TESTS_HEAP_TEST_CUDA_H
#define QUARRY_TESTS_HEAP_TEST_CUDA_H

/* A new non-blocking stream of the current device, or NULL. */
void *heap_test_stream_create(void);
void heap_test_stream_destroy(void *stream);

/* Records what is queued in a stream from now on; then runs it so many times, and waits.  Return 0 if it can't. */
int heap_test_capture(void *stream);
int heap_test_replay(void *stream, int times);

/* Launches a warp of a kernel as a program does by itself, without quarry_launch, and waits.  Returns 0 if it can't. */
struct simt_kernel;
int heap_test_plain_launch(const struct simt_kernel *kernel, void *argument);

/* Name of the error left in the runtime's last-error slot; NULL: none. */
const char *heap_test_left_error(void);

#endif
