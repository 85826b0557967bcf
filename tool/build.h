/* SPDX-License-Identifier: Apache-2.0 */
/* Of what and by what the command was built; cmake/QuarryBuild.cmake writes the source. */
#ifndef QUARRY_TOOL_BUILD_H
#define QUARRY_TOOL_BUILD_H

extern const char build_commit[];   /* of git, "-dirty" behind it if files were changed; or "unknown" */
extern const char build_compiler[]; /* "GNU 12.2.0, nvcc 13.0.48" */

#endif
