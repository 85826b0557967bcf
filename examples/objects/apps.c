/* SPDX-License-Identifier: Apache-2.0 */
#include "apps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_PNG
#include <png.h>
#endif

void must(enum quarry_status status)
{
    if (status == QUARRY_OK)
        return;
    fprintf(stderr, "objects: %s\n", quarry_error_detail());
    exit(1);
}

void *room(uint64_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fputs("objects: not enough memory on the host\n", stderr);
        exit(1);
    }
    return memory;
}

void *make(const struct quarry_target *target, uint64_t bytes)
{
    void *memory;
    must(quarry_memory_create(target, QUARRY_POOL_DEVICE, bytes, &memory));
    return memory;
}

struct stopwatch start(const struct quarry_target *target)
{
    struct stopwatch watch;
    must(quarry_event_create(target, &watch.begin));
    must(quarry_event_create(target, &watch.end));
    must(quarry_event_record(watch.begin));
    return watch;
}

double stop(struct stopwatch watch)
{
    double microseconds;
    must(quarry_event_record(watch.end));
    must(quarry_event_elapsed(watch.begin, watch.end, &microseconds));
    must(quarry_event_destroy(watch.begin));
    must(quarry_event_destroy(watch.end));
    return microseconds;
}

#ifdef WITH_PNG
int has_pictures(void)
{
    return 1;
}

void draw_picture(const char *file, uint32_t width, uint32_t height, const unsigned char *pixels,
                  const unsigned char (*colours)[3], uint32_t count)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_RGB_COLORMAP;
    image.colormap_entries = count;
    if (!png_image_write_to_file(&image, file, 0, pixels, 0, colours)) {
        fprintf(stderr, "objects: cannot write the picture %s: %s\n", file, image.message);
        exit(1);
    }
}
#else
int has_pictures(void)
{
    return 0;
}

void draw_picture(const char *file, uint32_t width, uint32_t height, const unsigned char *pixels,
                  const unsigned char (*colours)[3], uint32_t count)
{
    (void)file, (void)width, (void)height, (void)pixels, (void)colours, (void)count;
}
#endif
