/* SPDX-License-Identifier: Apache-2.0 */
#include "nbody.h"
#include "apps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What the host reads of all bodies.  None comes or goes, so each read has them in one order. */
struct bodies {
    float (*position)[2], (*velocity)[2], (*force)[2];
    float *mass;
};

static struct bodies make_bodies(uint64_t count)
{
    struct bodies b = {room(count * sizeof *b.position), room(count * sizeof *b.velocity),
                       room(count * sizeof *b.force), room(count * sizeof *b.mass)};
    return b;
}

static void read_bodies(struct objects *o, uint64_t most, const struct bodies *b)
{
    (void)read_field(o, "body", "position", b->position, most);
    (void)read_field(o, "body", "velocity", b->velocity, most);
    (void)read_field(o, "body", "force", b->force, most);
    (void)read_field(o, "body", "mass", b->mass, most);
}

static void free_bodies(const struct bodies *b)
{
    free(b->position);
    free(b->velocity);
    free(b->force);
    free(b->mass);
}

/* ---- the sequential program: a step with doubles ---- */

/* What a sum of so many floats may lose, that goes up and down, of the sum of all sizes. */
static double slack(uint32_t count)
{
    return ldexp(4.0, -24) * sqrt((double)count + 16.0);
}

/* Is each force right, for bodies as they were before the step?  And do all cancel out?  So the momentum stays, but for
 * what bounces. */
static int forces_are_right(const struct bodies *before, const struct bodies *after, uint32_t count)
{
    double sum[2] = {0, 0}, all = 0;
    for (uint32_t i = 0; i < count; i++) {
        double force[2] = {0, 0}, sizes = 0;
        for (uint32_t j = 0; j < count; j++) {
            const double dx = (double)before->position[j][0] - (double)before->position[i][0];
            const double dy = (double)before->position[j][1] - (double)before->position[i][1];
            const double square = dx * dx + dy * dy, distance = sqrt(square);
            if (square == 0.0)
                continue;
            const double size = (double)GRAVITY * (double)before->mass[i] * (double)before->mass[j] /
                                (square + (double)SOFTENING);
            force[0] += size * dx / distance;
            force[1] += size * dy / distance;
            sizes += size;
        }
        for (int d = 0; d < 2; d++) {
            if (!(fabs((double)after->force[i][d] - force[d]) <= slack(count) * sizes))
                return 0;
            sum[d] += (double)after->force[i][d];
        }
        all += sizes;
    }
    return hypot(sum[0], sum[1]) <= slack(count) * all;
}

/* Has each body moved as its force says? */
static int moves_are_right(const struct bodies *before, const struct bodies *after, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (int d = 0; d < 2; d++) {
            const double v = (double)before->velocity[i][d] +
                             (double)after->force[i][d] * (double)TIME_STEP / (double)before->mass[i];
            const double x = (double)before->position[i][d] + v * (double)TIME_STEP;
            const double is = (double)after->velocity[i][d], at = (double)after->position[i][d];
            const double lost = ldexp(4.0, -24) * (fabs(v) + fabs((double)before->velocity[i][d]));
            const int bounced = at < -1.0 || at > 1.0; /* a float is: the double may lie beside it */
            if (!(fabs(at - x) <= ldexp(1.0, -23)) || !(fabs(is - (bounced ? -v : v)) <= lost))
                return 0;
        }
    return 1;
}

/* ---- the objects ---- */

#define SIDE 512
static void draw_space(const struct settings *s, const struct bodies *b)
{
    static const unsigned char colours[][3] = {{0, 0, 0}, {255, 240, 200}};
    static unsigned char pixels[SIDE * SIDE];
    for (uint32_t i = 0; i < s->bodies; i++) {
        const int x = (int)lrintf((b->position[i][0] + 1.0f) * (SIDE - 1) / 2);
        const int y = (int)lrintf((b->position[i][1] + 1.0f) * (SIDE - 1) / 2);
        if (x >= 0 && x < SIDE && y >= 0 && y < SIDE)
            pixels[y * SIDE + x] = 1;
    }
    draw_picture(s->picture, SIDE, SIDE, pixels, colours, 2);
}

int nbody(const struct settings *s)
{
    const uint64_t most[] = {[quarry_number_of_body] = s->bodies};
    struct objects o = make_objects(s, &nbody_schema, most, s->bodies / QUARRY_CAPACITY_OF(body) + 1);
    struct space space = {o.backing, s->bodies, s->seed};
    int wrong = 0;
    launch(&o, VIEWS(nbody_begin), s->bodies < 65536 ? s->bodies : 65536, &space);
    stay(&o, "body");
    struct bodies before = make_bodies(s->bodies), after = make_bodies(s->bodies);
    struct stopwatch watch = start(&s->target);
    for (uint32_t i = 0; i < s->steps && !wrong; i++) {
        if (s->check)
            read_bodies(&o, s->bodies, &before);
        do_all(&o, VIEWS(nbody_pull), &space);
        do_all(&o, VIEWS(nbody_move), &space);
        if (!s->check)
            continue;
        read_bodies(&o, s->bodies, &after);
        if (!forces_are_right(&before, &after, s->bodies) || !moves_are_right(&before, &after, s->bodies)) {
            printf("objects: nbody is wrong after step %" PRIu32 "\n", i + 1);
            wrong = 1;
        }
    }
    const double microseconds = stop(watch);
    wrong |= was_full(&o);
    if (!wrong)
        printf("nbody: %" PRIu32 " bodies, %" PRIu32 " steps; %.1f us a step%s\n", s->bodies, s->steps,
               s->steps ? microseconds / s->steps : 0,
               s->check ? ", checks included; every step is right" : "");
    if (s->picture) {
        read_bodies(&o, s->bodies, &after);
        draw_space(s, &after);
    }
    free_bodies(&before);
    free_bodies(&after);
    free_objects(&o);
    return wrong;
}
