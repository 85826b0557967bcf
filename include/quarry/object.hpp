// SPDX-License-Identifier: Apache-2.0
// Typed objects for C++17: a class for each type of a schema.  A thin layer over object.h and quarry.hpp; what a call
// promises is that of the C function that each comment names.
//
//     QUARRY_SCHEMA(world, WORLD)                    // as in C (schema.h)
//     namespace world { QUARRY_HANDLES(WORLD) }      // classes world::body, world::star, which derives from it
//
//     world::star s = world::star::create(heap);     // in a kernel; none if the heap is full
//     if (s)
//         s.age() = 7, s.pos() = 1.5f;               // fields, those of its bases too
//     s.destroy(heap);
//     quarry::count<world::star>(heap);              // on the host
//
// Such an object is a name, as quarry_object is one: it has 8 bytes, is copied as a number, and owns nothing.
#ifndef QUARRY_OBJECT_HPP
#define QUARRY_OBJECT_HPP

#include "quarry/object.h"
#include "quarry/quarry.hpp"

#include <cstdint>
#include <vector>

namespace quarry {

// ---- kernels ----

// The name of an object of any type, or none.  It turns into a quarry_object where one is wanted.
class object {
  public:
    // None.
    object() = default;
    // Of a class that derives from this: `name` is an object of its type, or none.  Only a use of a field looks, in
    // debug builds and with QUARRY_CHECK; T::cast always does.
    SIMT_DEVICE explicit object(quarry_object name) : name_(name)
    {
    }
    SIMT_DEVICE operator quarry_object() const
    {
        return name_;
    }
    // Is there one?
    SIMT_DEVICE explicit operator bool() const
    {
        return !quarry_object_is_null(name_);
    }
    // As quarry_object_is_same.
    friend SIMT_DEVICE bool operator==(object a, object b)
    {
        return quarry_object_is_same(a, b);
    }
    friend SIMT_DEVICE bool operator!=(object a, object b)
    {
        return !(a == b);
    }
    // As quarry_object_delete.
    SIMT_DEVICE void destroy(quarry_handle heap) const
    {
        quarry_object_delete(heap, name_);
    }

  private:
    quarry_object name_ = {0};
};

// Defines the classes of all types of a schema, in the namespace where it stands:
//   static T create(heap)           quarry_object_new; not of an abstract type
//   static bool is(o)               quarry_object_is
//   static T cast(o)                quarry_object_cast
//   static T next(heap, o)          quarry_object_next; o may be none: T()
//   kind &field(element = 0)        T_field_at
// A field of a base that is named create, is, cast or next is hidden: T_field serves there.
#define QUARRY_HANDLES(TYPES)                                                                                \
    using ::quarry::object;                                                                                  \
    TYPES(QUARRY_HANDLE)

#define QUARRY_HANDLE(...) QUARRY_HANDLE_(__VA_ARGS__, concrete, )
#define QUARRY_HANDLE_(type, base, FIELDS, kind, ...)                                                        \
    class type : public base {                                                                               \
      public:                                                                                                \
        static constexpr const char *quarry_name = #type;                                                    \
        type() = default;                                                                                    \
        SIMT_DEVICE explicit type(quarry_object name) : base(name)                                           \
        {                                                                                                    \
        }                                                                                                    \
        QUARRY_HANDLE_NEW_##kind(type) SIMT_DEVICE static bool is(quarry_object o)                           \
        {                                                                                                    \
            return quarry_object_is(o, type) != 0;                                                           \
        }                                                                                                    \
        SIMT_DEVICE static type cast(quarry_object o)                                                        \
        {                                                                                                    \
            return type(quarry_object_cast(o, type));                                                        \
        }                                                                                                    \
        SIMT_DEVICE static type next(quarry_handle heap, type o)                                             \
        {                                                                                                    \
            return type(quarry_object_next(heap, type, o));                                                  \
        }                                                                                                    \
        FIELDS(QUARRY_HANDLE_FIELD, type)                                                                    \
    };
#define QUARRY_HANDLE_NEW_abstract(type)
#define QUARRY_HANDLE_NEW_concrete(type)                                                                     \
    SIMT_DEVICE static type create(quarry_handle heap)                                                       \
    {                                                                                                        \
        return type(quarry_object_new(heap, type));                                                          \
    }
#define QUARRY_HANDLE_FIELD(type, ...) QUARRY_HANDLE_FIELD_(type, __VA_ARGS__, 1, )
#define QUARRY_HANDLE_FIELD_(type, kind, name, elements, ...)                                                \
    SIMT_DEVICE kind &name(std::uint32_t element = 0) const                                                  \
    {                                                                                                        \
        return *type##_##name##_at(*this, element);                                                          \
    }

// ---- host ----

#ifdef QUARRY_EXPECTED
inline namespace expecting {
#else
inline namespace throwing {
#endif

// As quarry_object_do.  Argument: that of the do-all; one of another size is ARGUMENT.
template <class Argument>
answer<void> do_all(const heap &heap, const simt_kernel &method, const Argument &argument)
{
    static_assert(std::is_trivially_copyable_v<Argument>, "a do-all's argument is copied byte by byte");
    return finish(quarry_objects_do(heap.get(), &method, &argument, sizeof argument));
}

// How many objects of T there are: quarry_object_count.
template <class T> answer<std::uint64_t> count(const heap &heap)
{
    std::uint64_t count = 0;
    quarry_status status = quarry_objects_count(heap.get(), T::quarry_name, &count);
    return finish(status, std::move(count));
}

// A field of all objects of T: quarry_object_read.  Value: the field's type; of several elements, an array of them.
template <class T, class Value> answer<std::vector<Value>> read(const heap &heap, const char *field)
{
    std::vector<Value> values;
    std::uint64_t count = 0;
    quarry_status status = quarry_objects_count(heap.get(), T::quarry_name, &count);
    if (status == QUARRY_OK) {
        values.resize(count);
        status = quarry_objects_read(heap.get(), T::quarry_name, field, values.data(), count, sizeof(Value),
                                     &count);
    }
    return finish(status, std::move(values));
}

// Writes a field of all objects of T, in the order of read: quarry_object_write.
template <class T, class Value>
answer<void> write(const heap &heap, const char *field, const std::vector<Value> &values)
{
    return finish(
        quarry_objects_write(heap.get(), T::quarry_name, field, values.data(), values.size(), sizeof(Value)));
}

// Creates many objects of T, all or none: quarry_object_add.
template <class T> answer<void> add(const heap &heap, std::uint64_t count)
{
    return finish(quarry_objects_add(heap.get(), T::quarry_name, count, nullptr));
}
} // namespace expecting or throwing

} // namespace quarry

#endif
