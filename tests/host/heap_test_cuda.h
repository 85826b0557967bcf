/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of heaps ask of CUDA itself.  Without QUARRY_WITH_CUDA: nothing there, nothing wrong. */
#ifndef QUARRY_TESTS_HEAP_TEST_CUDA_H
#define QUARRY_TESTS_HEAP_TEST_CUDA_H

/* A new non-blocking stream of the current device, or NULL. */
void *heap_test_stream_create(void);
void heap_test_stream_destroy(void *stream);

/* Name of the error left in the runtime's last-error slot; NULL: none. */
const char *heap_test_left_error(void);

#endif
