// SPDX-License-Identifier: Apache-2.0
// Typed objects by quarry/object.hpp: classes that derive as the schema says, in a kernel and on the host.  A line for
// each promise that does not hold; exits with how many these are.
#include "objects/zoo.h"
#include "quarry/object.hpp"

#include <array>
#include <cstdio>
#include <cstring>

namespace zoo {
QUARRY_HANDLES(ZOO)
}

static_assert(sizeof(zoo::pegasus) == sizeof(quarry_object) && std::is_trivially_copyable_v<zoo::pegasus>);
static_assert(std::is_base_of_v<zoo::animal, zoo::pegasus> && !std::is_base_of_v<zoo::horse, zoo::cat>);
static_assert(!std::is_convertible_v<quarry_object, zoo::cat> &&
              !std::is_convertible_v<zoo::animal, zoo::cat>);

struct job {
    quarry_handle heap;
    std::uint32_t *wrong;
};

SIMT_KERNEL(use, job, a)
{
    const auto wrong = [&a](bool is) { simt_add_u32(a.wrong, is, relaxed); };
    zoo::cat cat = zoo::cat::create(a.heap);
    zoo::pegasus flies = zoo::pegasus::create(a.heap);
    zoo::horse horse = flies; // a base
    wrong(!cat || !flies || zoo::animal() || horse != flies || cat == flies);
    flies.stamp() = 5;
    flies.wing(2) = 6;
    flies.rider() = cat;
    cat.stamp() = 7;
    cat.lives(1) = 8;
    wrong(horse.stamp() != 5 || *animal_stamp(flies) != 5 || *pegasus_wing_at(flies, 2) != 6);
    wrong(!zoo::horse::is(flies) || zoo::horse::is(cat) || zoo::horse::cast(cat));
    wrong(zoo::cat::cast(flies.rider()).lives(1) != 8);
    std::uint64_t stamps = 0;
    for (zoo::animal o = zoo::animal::next(a.heap, zoo::animal()); o; o = zoo::animal::next(a.heap, o))
        stamps += o.stamp();
    wrong(stamps != 12);
    zoo::cat::create(a.heap).destroy(a.heap);
}

QUARRY_DO_ALL(grow, animal, job, a, self)
{
    zoo::animal(self).stamp()++;
    if (zoo::cat::is(self))
        zoo::cat(self).destroy(a->heap);
}

static int failures;
static void expect(bool is, const char *what)
{
    if (!is)
        std::printf("FAILED: %s\n", what);
    failures += !is;
}

int main()
{
    quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    options.target.backend = QUARRY_BACKEND_CPU;
    options.schema = &zoo_schema;
    options.pages = 8;
    auto heap = quarry::heap::create(options);
    auto target = quarry::target::create(QUARRY_BACKEND_CPU);
    std::uint32_t wrong = 0; // the CPU's kernels reach it
    job argument = {heap.handle(), &wrong};
    target.launch(use, {1, 1, 0}, argument);
    expect(wrong == 0, "a kernel uses objects by their classes");
    expect(quarry::count<zoo::animal>(heap) == 2 && quarry::count<zoo::cat>(heap) == 1, "count");
    quarry::do_all(heap, grow, argument);
    expect(quarry::count<zoo::animal>(heap) == 1, "do_all");
    auto stamps = quarry::read<zoo::animal, std::uint64_t>(heap, "stamp");
    auto wings = quarry::read<zoo::pegasus, std::array<std::uint64_t, 3>>(heap, "wing");
    expect(stamps.size() == 1 && stamps[0] == 6 && wings.size() == 1 && wings[0][2] == 6, "read");
    quarry::add<zoo::cat>(heap, 3);
    quarry::write<zoo::cat>(heap, "stamp", std::vector<std::uint64_t>{1, 2, 3});
    expect(quarry::read<zoo::cat, std::uint64_t>(heap, "stamp") == std::vector<std::uint64_t>{1, 2, 3},
           "write");
    try {
        quarry::read<zoo::animal, std::uint64_t>(heap, "wing");
        expect(false, "a failure is thrown");
    } catch (const quarry::error &why) {
        expect(why.status() == QUARRY_ERROR_ARGUMENT && std::strstr(why.what(), "no field wing"),
               "its reason");
    }
    try {
        quarry::do_all(heap, grow, std::array<char, sizeof argument + 1>());
        expect(false, "an argument of another size is refused");
    } catch (const quarry::error &why) {
        expect(why.status() == QUARRY_ERROR_ARGUMENT &&
                   std::strstr(why.what(), "but that of do-all grow has "),
               "because of its size");
    }
    return failures;
}
