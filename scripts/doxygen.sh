#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The API reference as HTML, made by Doxygen of the comments in the public headers.
#
#   doxygen.sh FOLDER    writes FOLDER/html/index.html
#
# Fails if a function, a type, a value or a macro has no comment, or if a comment names an argument that is not there.
# A member of a struct may be without: its name and its type can say all.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
doxygen - <<END 2>"$folder/warnings"
PROJECT_NAME = Quarry
PROJECT_BRIEF = "malloc and free for massively parallel programs"
INPUT = include/quarry/quarry.h include/quarry/trace.h include/quarry/device.h include/quarry/allocate.h \
        include/quarry/standard.h include/quarry/tag.h
INPUT_FILTER = "awk -f scripts/doxygen.awk"
STRIP_FROM_PATH = include
OUTPUT_DIRECTORY = "$folder"
OPTIMIZE_OUTPUT_FOR_C = YES
EXTRACT_STATIC = YES # functions of kernels are
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = SIMT_FN=
EXCLUDE_SYMBOLS = QUARRY_LOG QUARRY_TAG_TEXT QUARRY_TAG_TEXT_ # of no use to a program
WARN_IF_INCOMPLETE_DOC = NO # only arguments of which there is something to say
GENERATE_LATEX = NO
HAVE_DOT = NO
CLASS_GRAPH = NO
COLLABORATION_GRAPH = NO
QUIET = YES
END
if grep -v 'Member .* (variable) of struct .* is not documented' "$folder/warnings" >&2; then
    exit 1
fi
[ -s "$folder/html/index.html" ]
