/* SPDX-License-Identifier: Apache-2.0 */
/* As many types as there can be. */
#include "objects/test_schema.h"

#define FIRST(FIELD, T) FIELD(T, uint64_t, number)
#define NOTHING(FIELD, T)
#define FOUR(TYPE, a, b, c, d, e)                                                                            \
    TYPE(b, a, NOTHING) TYPE(c, b, NOTHING, abstract) TYPE(d, c, NOTHING) TYPE(e, d, NOTHING)
#define CROWD(TYPE)                                                                                          \
    TYPE(t0, object, FIRST)                                                                                  \
    TYPE(t1, t0, NOTHING)                                                                                    \
    TYPE(t2, t1, NOTHING)                                                                                    \
    TYPE(t3, t2, NOTHING)                                                                                    \
    FOUR(TYPE, t3, t4, t5, t6, t7)                                                                           \
    FOUR(TYPE, t7, t8, t9, t10, t11)                                                                         \
    FOUR(TYPE, t11, t12, t13, t14, t15)                                                                      \
    FOUR(TYPE, t15, t16, t17, t18, t19)                                                                      \
    FOUR(TYPE, t19, t20, t21, t22, t23)                                                                      \
    FOUR(TYPE, t23, t24, t25, t26, t27)                                                                      \
    FOUR(TYPE, t27, t28, t29, t30, t31)                                                                      \
    FOUR(TYPE, t31, t32, t33, t34, t35)                                                                      \
    FOUR(TYPE, t35, t36, t37, t38, t39)                                                                      \
    FOUR(TYPE, t39, t40, t41, t42, t43)                                                                      \
    FOUR(TYPE, t43, t44, t45, t46, t47)                                                                      \
    FOUR(TYPE, t47, t48, t49, t50, t51)                                                                      \
    FOUR(TYPE, t51, t52, t53, t54, t55)                                                                      \
    FOUR(TYPE, t55, t56, t57, t58, t59)                                                                      \
    FOUR(TYPE, t59, t60, t61, t62, t63)
QUARRY_SCHEMA(crowd, CROWD)

const struct quarry_schema *const crowd = &crowd_schema;

int crowd_last_is_last(quarry_object o)
{
    return quarry_object_is(o, t63);
}

int crowd_last_is_first(quarry_object o)
{
    return quarry_object_is(o, t0);
}
