# SPDX-License-Identifier: Apache-2.0
# Quarry::BoostContext: the two assembly routines of Boost.Context behind the fibers of the CPU backend.
# They are declared by hand, so only the library is needed.  The archive is preferred: it is two small
# objects, and what links them runs on machines without Boost.  Installed, too: who links libquarry.a needs it.
#
# Output  QUARRY_NO_BOOST_CONTEXT   what to do if it was not found, else empty

find_library(QUARRY_BOOST_CONTEXT NAMES libboost_context.a boost_context
             DOC "libboost_context (make_fcontext and jump_fcontext)")
if(NOT QUARRY_BOOST_CONTEXT)
    set(QUARRY_NO_BOOST_CONTEXT "libboost_context was not found: install libboost-context-dev, or name a folder that "
                                "holds include/ and lib/ with -DCMAKE_PREFIX_PATH=DIR.")
    list(JOIN QUARRY_NO_BOOST_CONTEXT "" QUARRY_NO_BOOST_CONTEXT)
else()
    set(QUARRY_NO_BOOST_CONTEXT "")
    if(NOT TARGET Quarry::BoostContext)
        add_library(Quarry::BoostContext UNKNOWN IMPORTED)
        set_target_properties(Quarry::BoostContext PROPERTIES IMPORTED_LOCATION "${QUARRY_BOOST_CONTEXT}")
    endif()
endif()
