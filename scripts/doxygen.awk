# SPDX-License-Identifier: Apache-2.0
# Quarry's comments as Doxygen wants them; each line stays where it is.
#
#   /* What it does.               /** What it does.
#    *   name  what it is     ->    * \param name  what it is
#    * Returns NULL if ... */       * \details Returns NULL if ... */
#
# A comment behind a member or a macro becomes one of what it is behind.

# The first line is the license, and the comment after it is the file's.
NR == 1 { print "/** \\file"; next }
NR == 2 { sub(/^\/\*/, " *") }
NR > 2 && /^ *\/\* / && !/\/\* (----|clang-format)/ { sub(/\/\* /, "/** "); comment = 1; listed = 0 }
(/[;,{] *\/\* / || /^#define .* \/\* /) && !/^struct [a-z_]+;/ { sub(/\/\* /, "/**< ") }
comment && /^ \*   [a-z_]+(, [a-z_]+)*  / { sub(/\*   /, "* \\param "); listed = 1 }
comment && listed && /^ \* [^ \\]/ { sub(/\* /, "* \\details "); listed = 0 }
/\*\// { comment = 0 }
{ print }
