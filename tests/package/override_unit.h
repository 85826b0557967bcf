// SPDX-License-Identifier: Apache-2.0
// What the sources of the program share.
#ifndef OVERRIDE_UNIT_H
#define OVERRIDE_UNIT_H

struct shape {
    unsigned width, height;

    __device__ shape(unsigned w, unsigned h) : width(w), height(h)
    {
    }
    __device__ unsigned area() const
    {
        return width * height;
    }
};

extern unsigned host_news; // calls of the host's operator new, which override_host.cpp replaces

void make_shapes(shape **shapes, unsigned n);              // a new one for each
void free_texts(char **texts, unsigned *good, unsigned n); // frees text i, whose byte i % 40 is i

#endif
