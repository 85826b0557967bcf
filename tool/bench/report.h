/* SPDX-License-Identifier: Apache-2.0 */
/* The page that report.py makes of the CSV of `quarry bench`.  The script is part of the command; it needs a
 * Python 3 that has matplotlib: the python3 in PATH, or else the system's. */
#ifndef QUARRY_TOOL_REPORT_H
#define QUARRY_TOOL_REPORT_H

/* Whether report_write could work, which saves the work before it: is there such a Python, and can files be
 * made in `folder`, or `folder` itself? Returns TOOL_OK, or prints one sentence and returns TOOL_FAILED. */
int report_check(const char *folder);

/* Writes folder/index.html, whole or not at all; makes the folder if it is missing.
 *   files  CSV, from results of one device
 * Returns TOOL_OK, or prints one sentence and returns TOOL_FAILED. */
int report_write(const char *folder, const char *const *files, unsigned count);

#endif
