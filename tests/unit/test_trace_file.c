/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of traces on files that this test puts together by itself, byte for byte as docs/guide/traces.md
 * says: a sound one, and one for each way in which a file can be damaged, with the offset that the sentence
 * must name.  Whatever a file is cut or changed to, it is read or refused. */
#include "common.h"

#include "quarry/trace.h"

#include <unistd.h>
#include <zlib.h>

#define HEADER 512u
#define EVENT 24u
#define MOST 4096u /* bytes of a file here */

/* Thread 7 and thread 9 of two launches. */
static const struct quarry_trace_event sound[] = {
    {0, 7, QUARRY_TRACE_MALLOC, 0, 100}, {0, 9, QUARRY_TRACE_MALLOC, 1, 1},
    {0, 9, QUARRY_TRACE_FREE, 0, 0},     {1, 7, QUARRY_TRACE_FAILED, UINT32_MAX, UINT64_C(1) << 40},
    {1, 9, QUARRY_TRACE_MALLOC, 2, 64},  {1, 9, QUARRY_TRACE_FREE, 2, 0},
};
enum { EVENTS = sizeof sound / sizeof *sound };

struct made {
    unsigned char bytes[MOST];
    size_t size;
};

static void put(unsigned char *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++, value >>= 8)
        to[i] = (unsigned char)value;
}

static void sign(struct made *m)
{
    put(m->bytes + 12, crc32(0, m->bytes + 16, HEADER - 16), 4);
}

/* A file of `size` bytes of events. */
static void make(struct made *m, const unsigned char *events, size_t size)
{
    static const uint64_t numbers[] = {EVENTS, 3, 1, 2, 0, 0, 1 << 20, 256, 16};
    static const double low_free = 0.25;
    uint64_t low_free_bits;
    uLongf packed = MOST - HEADER;
    memset(m, 0, sizeof *m);
    memcpy(m->bytes, "\211QTRACE\n\2\0\0\0", 12);
    for (unsigned i = 0; i < 9; i++)
        put(m->bytes + 16 + 8 * i, numbers[i], 8);
    memcpy(&low_free_bits, &low_free, sizeof low_free_bits);
    put(m->bytes + 88, low_free_bits, 8);
    put(m->bytes + 96, 1, 4);
    put(m->bytes + 100, 1, 4);
    put(m->bytes + 104, 1, 4);
    put(m->bytes + 108, 1000, 4);
    put(m->bytes + 112, 2, 4);
    memcpy(m->bytes + 128, "corw", 4);
    memcpy(m->bytes + 160, "a device", 8);
    memcpy(m->bytes + 224, "probes=5 word_bits=32 probe_lanes=16", 36);
    sign(m);
    assert_int_equal(compress(m->bytes + HEADER, &packed, events, size), Z_OK);
    m->size = HEADER + packed;
}

static void encode(unsigned char *to, const struct quarry_trace_event *events, unsigned count)
{
    for (unsigned i = 0; i < count; i++, to += EVENT) {
        put(to, events[i].launch, 4);
        put(to + 4, events[i].thread, 4);
        put(to + 8, events[i].kind, 4);
        put(to + 12, events[i].block, 4);
        put(to + 16, events[i].bytes, 8);
    }
}

static void make_sound(struct made *m)
{
    unsigned char events[EVENTS * EVENT];
    encode(events, sound, EVENTS);
    make(m, events, sizeof events);
}

/* The file is refused, and what is said begins so. */
static void refuse(const struct made *m, const char *begins)
{
    struct quarry_trace_file file;
    memset(&file, 0xff, sizeof file);
    assert_int_equal(quarry_trace_parse(&file, m->bytes, m->size), QUARRY_ERROR_FILE);
    if (strncmp(quarry_error_detail(), begins, strlen(begins)) != 0)
        fail_msg("'%s' does not begin with '%s'", quarry_error_detail(), begins);
    assert_null(file.events);
    assert_int_equal(file.header.events, 0);
}

static void a_sound_file_is_read_field_by_field(void **state)
{
    struct made m;
    struct quarry_trace_file file;
    (void)state;
    make_sound(&m);
    assert_ok(quarry_trace_parse(&file, m.bytes, m.size));
    assert_int_equal(file.header.events, EVENTS);
    assert_int_equal(file.header.blocks, 3);
    assert_int_equal(file.header.failed, 1);
    assert_int_equal(file.header.launches, 2);
    assert_int_equal(file.header.pool_bytes, 1 << 20);
    assert_int_equal(file.header.page_bytes, 256);
    assert_int_equal(file.header.alignment, 16);
    assert_string_equal(file.header.options, "probes=5 word_bits=32 probe_lanes=16");
    assert_int_equal(file.header.full, QUARRY_FULL_INFERRED);
    assert_true(file.header.low_free == 0.25);
    assert_int_equal(file.header.distribution, QUARRY_DISTRIBUTION_WARP);
    assert_int_equal(file.header.oom, QUARRY_OOM_WAIT);
    assert_int_equal(file.header.oom_tries, 1000);
    assert_int_equal(file.header.backend, QUARRY_BACKEND_CPU);
    assert_string_equal(file.header.allocator, "corw");
    assert_string_equal(file.header.device, "a device");
    assert_memory_equal(file.events, sound, sizeof sound);
    quarry_trace_free(&file);
    assert_null(file.events);
}

static void a_trace_of_nothing_is_one(void **state)
{
    struct made m;
    struct quarry_trace_file file;
    (void)state;
    make(&m, (const unsigned char *)"", 0);
    memset(m.bytes + 16, 0, 32);
    sign(&m);
    assert_ok(quarry_trace_parse(&file, m.bytes, m.size));
    assert_int_equal(file.header.events, 0);
    quarry_trace_free(&file);
}

/* One field of the header is another: with a checksum that fits, or without. */
static void damage_in_the_header_is_named(void **state)
{
    static const struct {
        unsigned at;
        unsigned bytes;
        uint64_t value;
        int sign;
        const char *begins;
    } damages[] = {
        {0, 1, 'Q', 0, "byte 0: this is no trace"},
        {7, 1, '\r', 0, "byte 0: this is no trace"},
        {8, 4, 1, 0, "byte 8: the trace has version 1"},
        {12, 4, 0, 0, "byte 12: the header is damaged"},
        {64, 1, 1, 0, "byte 12: the header is damaged"},
        {16, 8, EVENTS + 1, 1, "byte 16: the header says 7 events, and the trace has 6"},
        {16, 8, UINT64_MAX, 1, "byte 16: a trace has at most"},
        {16, 8, EVENTS - 1, 1, "byte 120 of the events as unpacked: event 5 is one more"},
        {24, 8, 4, 1, "byte 24: the header says 4 blocks, and the trace has 3"},
        {32, 8, 0, 1, "byte 32: the header says 0 mallocs that failed"},
        {40, 8, 3, 1, "byte 40: the header says 3 launches, and the trace has 2"},
        {40, 8, 1, 1, "byte 72 of the events as unpacked: event 3 is of a launch"},
        {96, 4, 2, 1, "byte 96: full is 2"},
        {100, 4, 2, 1, "byte 100: distribution is 2"},
        {104, 4, 4, 1, "byte 104: oom is 4"},
        {112, 4, 0, 1, "byte 112: backend is 0"},
        {159, 1, 'x', 1, "byte 128: a text"},
        {223, 1, 'x', 1, "byte 160: a text"},
        {511, 1, 'x', 1, "byte 224: a text"},
        {130, 1, '\n', 1, "byte 130: a text has a control character"},
        {163, 1, 0x1b, 1, "byte 163: a text has a control character"},
        {224, 1, 0x7f, 1, "byte 224: a text has a control character"},
        {127, 1, 1, 1, "byte 127: it must be 0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct made m;
        make_sound(&m);
        put(m.bytes + damages[i].at, damages[i].value, damages[i].bytes);
        if (damages[i].sign)
            sign(&m);
        refuse(&m, damages[i].begins);
    }
}

/* One event is another. */
static void events_that_cannot_happen_are_named(void **state)
{
    static const struct {
        unsigned event;
        struct quarry_trace_event is;
        const char *begins;
    } damages[] = {
        {0, {2, 7, QUARRY_TRACE_MALLOC, 0, 100}, "byte 0 of the events as unpacked: event 0 is of a launch"},
        {5, {0, 9, QUARRY_TRACE_FREE, 2, 0}, "byte 120 of the events as unpacked: event 5 is of a launch"},
        {1, {0, 9, 3, 1, 1}, "byte 24 of the events as unpacked: event 1 is neither"},
        {1, {0, 9, QUARRY_TRACE_MALLOC, 1, 0}, "byte 24 of the events as unpacked: event 1 is a malloc of 0"},
        {3,
         {1, 7, QUARRY_TRACE_FAILED, UINT32_MAX, 0},
         "byte 72 of the events as unpacked: event 3 is a malloc of 0"},
        {2,
         {0, 9, QUARRY_TRACE_FREE, 0, 1},
         "byte 48 of the events as unpacked: event 2 is a free of a given"},
        {1,
         {0, 9, QUARRY_TRACE_MALLOC, 0, 1},
         "byte 24 of the events as unpacked: event 1 is a malloc of a block"},
        {1,
         {0, 9, QUARRY_TRACE_MALLOC, 2, 1},
         "byte 24 of the events as unpacked: event 1 is a malloc of a block"},
        {2,
         {0, 9, QUARRY_TRACE_FREE, 2, 0},
         "byte 48 of the events as unpacked: event 2 is a free of a block"},
        {5,
         {1, 9, QUARRY_TRACE_FREE, 0, 0},
         "byte 120 of the events as unpacked: event 5 is a free of a block"},
        {3,
         {1, 7, QUARRY_TRACE_FAILED, 3, 8},
         "byte 72 of the events as unpacked: event 3 is a malloc that failed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct made m;
        struct quarry_trace_event events[EVENTS];
        unsigned char bytes[EVENTS * EVENT];
        memcpy(events, sound, sizeof events);
        events[damages[i].event] = damages[i].is;
        encode(bytes, events, EVENTS);
        make(&m, bytes, sizeof bytes);
        refuse(&m, damages[i].begins);
    }
}

static void damage_in_the_events_is_named(void **state)
{
    struct made m;
    unsigned char events[EVENTS * EVENT];
    (void)state;
    encode(events, sound, EVENTS);
    make(&m, events, sizeof events - 1);
    refuse(&m, "byte 120 of the events as unpacked: event 5 is cut off");
    make_sound(&m);
    m.bytes[HEADER] = 0;
    refuse(&m, "byte 514: the compressed events are damaged");
    make_sound(&m);
    m.bytes[m.size - 1] ^= 1; /* zlib's own checksum, at the end */
    refuse(&m, "byte ");
    assert_non_null(
        strstr(quarry_error_detail(), "the compressed events are damaged (incorrect data check)"));
    make_sound(&m);
    m.size++;
    char begins[80];
    snprintf(begins, sizeof begins, "byte %zu: 1 bytes follow", m.size - 1);
    refuse(&m, begins);
}

static void a_file_cut_anywhere_is_refused_there(void **state)
{
    struct made whole, m;
    (void)state;
    make_sound(&whole);
    for (size_t size = 0; size < whole.size; size++) {
        char begins[80];
        m = whole;
        m.size = size;
        snprintf(begins, sizeof begins,
                 size < HEADER ? "byte %zu: the file ends in its header"
                               : "byte %zu: the file ends in its compressed events",
                 size);
        refuse(&m, begins);
    }
}

/* But for bits that nobody reads: those that fill up the last byte before zlib's checksum. */
static void no_changed_bit_changes_the_trace(void **state)
{
    struct made whole, m;
    (void)state;
    make_sound(&whole);
    for (size_t at = 0; at < whole.size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct quarry_trace_file file;
            m = whole;
            m.bytes[at] ^= (unsigned char)(1u << bit);
            if (quarry_trace_parse(&file, m.bytes, m.size) != QUARRY_OK)
                continue;
            if (at < HEADER || file.header.events != EVENTS || memcmp(file.events, sound, sizeof sound) != 0)
                fail_msg("byte %zu, bit %u was changed, and nobody noticed", at, bit);
            quarry_trace_free(&file);
        }
}

static void a_file_is_read_from_its_path(void **state)
{
    char path[] = "/tmp/quarry_trace_XXXXXX";
    struct made m;
    struct quarry_trace_file file;
    int descriptor = mkstemp(path);
    (void)state;
    assert_true(descriptor >= 0);
    make_sound(&m);
    assert_int_equal(write(descriptor, m.bytes, m.size), (ssize_t)m.size);
    close(descriptor);
    assert_ok(quarry_trace_read(&file, path));
    assert_memory_equal(file.events, sound, sizeof sound);
    quarry_trace_free(&file);
    assert_int_equal(truncate(path, 300), 0);
    assert_int_equal(quarry_trace_read(&file, path), QUARRY_ERROR_FILE);
    assert_non_null(strstr(quarry_error_detail(), path));
    assert_non_null(strstr(quarry_error_detail(), ": byte 300: "));
    unlink(path);
    assert_int_equal(quarry_trace_read(&file, path), QUARRY_ERROR_FILE);
    assert_non_null(strstr(quarry_error_detail(), "can't read"));
    assert_int_equal(quarry_trace_read(&file, "/tmp"), QUARRY_ERROR_FILE);
    assert_int_equal(quarry_trace_read(NULL, path), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_trace_read(&file, NULL), QUARRY_ERROR_ARGUMENT);
    assert_int_equal(quarry_trace_parse(&file, NULL, 1), QUARRY_ERROR_ARGUMENT);
    quarry_trace_free(NULL);
}

/* Longer options would be cut without a word. */
static void the_longest_options_of_any_allocator_fit(void **state)
{
    struct quarry_trace_header header;
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_option longest[QUARRY_MAX_HEAP_OPTIONS];
        struct quarry_option_info info;
        char text[QUARRY_OPTIONS_TEXT_BYTES];
        uint32_t count = 0;
        for (; quarry_allocator_option(i, count, &info) == QUARRY_OK; count++)
            longest[count] =
                (struct quarry_option){info.name, info.most > info.standard ? info.most : info.standard};
        quarry_options_format(longest, count, text, sizeof text);
        assert_true(strlen(text) < sizeof text - 1);
        assert_true(strlen(text) < sizeof header.options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_file_is_read_field_by_field),
        cmocka_unit_test(a_trace_of_nothing_is_one),
        cmocka_unit_test(damage_in_the_header_is_named),
        cmocka_unit_test(events_that_cannot_happen_are_named),
        cmocka_unit_test(damage_in_the_events_is_named),
        cmocka_unit_test(a_file_cut_anywhere_is_refused_there),
        cmocka_unit_test(no_changed_bit_changes_the_trace),
        cmocka_unit_test(a_file_is_read_from_its_path),
        cmocka_unit_test(the_longest_options_of_any_allocator_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
