#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into what typed objects are made of above core/blocks.h, each of which test_objects must find.
#
#   planted.sh CC LIBRARY-FLAGS
# shellcheck source=tests/planted.sh
. "$(dirname "$0")/../planted.sh"
kernel_flags=(-DNDEBUG -DQUARRY_ALLOCATOR=objects)
export QUARRY_TEST_STOP=1 # the first failure is enough
failed_seed='s/.*failed with seed //p;s/.*FAILED.*/0/p'

# The library's part is compiled into the test, in front of the library.
fresh() {
    rm -rf "$scratch/copy"
    mkdir -p "$scratch/copy/src/host" "$scratch/copy/src/device"
    cp -r include "$scratch/copy/"
    cp src/host/objects.c "$scratch/copy/src/host/"
    cp src/device/object_kernels.[ch] "$scratch/copy/src/device/"
    [ -z "$also" ] || sed -i -E "$also" "$scratch/copy/src/host/objects.c"
}
also='' # a change of objects.c that belongs to a bug elsewhere

part() {
    # shellcheck disable=SC2086 # words
    "$cc" -std=c11 -D_GNU_SOURCE -O1 "${kernel_flags[@]}" -I"$scratch/copy/include" -I"$scratch/copy/src" -Isrc $flags \
        -c "$scratch/copy/src/$1.c" -o "$scratch/$(basename "$1").o" 2>"$scratch/log"
}

build() {
    compile_once objects/test_objects && compile_once objects/schema_structure && compile_once host/heap_test_cuda && compile objects/object_kernels && part host/objects && mv "$scratch/objects.o" "$scratch/host.o" &&
        part device/object_kernels && mv "$scratch/object_kernels.o" "$scratch/snapshot.o" && compile objects/object_kernels &&
        link test_objects.o schema_structure.o heap_test_cuda.o object_kernels.o host.o snapshot.o
}

sound objects 20

plant objects 100 objects.c 'a snapshot for each type, before its kernel' \
    '/^enum quarry_status quarry_objects_do/,/^\}/s/take_snapshot\(heap, objects, types, turn\)/QUARRY_OK/
     s/^( *)memcpy\(call, &work, sizeof work\);/\1status = take_snapshot(heap, objects, (uint64_t)1 << i, turn);\n&/'
also='s/quarry_objects_typed_live\(objects\),/objects->blocks.slots,/'
plant objects 100 object.h 'slots that are live now, not in the snapshot' \
    's/\(w->live >> w->slot & 1u\)/(simt_load_u64((uint64_t *)\&work->live[w->page], relaxed) >> w->slot \& 1u)/'
also=''
plant objects 100 object.h 'a later turn is in the page of the first' '/quarry_do_next\(/,/^\}/s/quarry_do_look\(work, w\);/;/'
plant objects 100 object.h 'a thread stays in its page when its slots end' 's/w->at\+\+;/;/'
plant objects 100 objects.c 'types that derive are left out' 's/derives\(schema, \(int\)i, number\)/i == number/'
plant objects 100 object_kernels.c 'pages of all types are listed from one place on' 's/at = first \+ /at = /'
plant objects 100 object_kernels.c 'a page of the upper half of a word is left out' 's/part < PARTS/part < 1/'
plant objects 100 object_kernels.c 'pages of several words are listed in one place' 's/at \+= simt_popc_u64\(word\);/;/'
plant objects 100 object_kernels.c 'slots that are free are listed' 's/(quarry_blocks_all\(kind\)) & ~.*;/\1;/'
plant objects 100 object.h 'a page that changed its type is not seen' '/quarry_object_wrong\(/,/^\}/s/return &h->typed->wrong\[QUARRY_OBJECTS_MISTYPED\];/;/'
plant objects 100 object.h 'an object that is deleted twice is not seen' 's/if \(gift\.twice != 0\)/if (0)/'
plant objects 100 object.h 'lanes that delete one object together count as one' 's/if \(simt_rank\(simt_match_u32\(gift\.group, w\.slot\)\) != 0\)/if (0)/'
plant objects 100 object.h 'who errs is not who is named' 's/o\.bits - w\.slot \+ simt_ctz_u64\(gift\.twice\)/o.bits/'
plant objects 100 objects.c 'a do-all of another schema runs' 's/heap->schema->code != note->schema/0/'
plant objects 100 objects.c 'a snapshot from before a reset' 's/snapshot->resets != snapshot->heap->resets/0/'
plant objects 100 object.h 'a slot that no block of the type has' 's/ \|\|$/ ||/;s/w->slot >= quarry_object_capacity\(o\)/0/'
plant objects 100 object.h 'next leaves out every other slot' 's/from = quarry_object_slot\(o\) \+ 1u;/from = quarry_object_slot(o) + 2u;/'
plant objects 100 object.h 'next does not leave its type' 's/for \(; w->number < b->types - \(h->sizes\.whole \+ 1u\); /for (uint32_t n = 0; n < 2; n++, /'
plant objects 100 object.h 'an object in a heap of another schema' '/quarry_object_create\(/,/^\}/s/ \|\| h->schema != type\.schema//'
plant objects 100 objects.h 'kinds of types and of sizes are one' 's/h->sizes\.whole \+ 1u \+ number, capacity/number, capacity/'
plant objects 100 objects.c 'a snapshot that stays is that of the last do-all' \
    's/run\(snapshot->heap, &snapshot->objects,/run(snapshot->heap, \&snapshot->heap->handle.as.objects,/'
plant objects 100 objects.c 'a snapshot takes do-alls of other types' 's/types & ~snapshot->types/0/'
plant objects 100 object_kernels.c 'fields of objects that the host creates have any value' 's/quarry_object_fill\(a\.fields, o, 0\);/;/'
plant objects 100 objects.c 'some stay when there is no room for all' 's/&quarry_object_remove_kernel/(crowd.count = 0, \&quarry_object_remove_kernel)/'
plant objects 100 objects.c 'names are in no order' '/^enum quarry_status quarry_objects_add/,/^\}/s/qsort\(.*\);/;/'
plant objects 100 objects.c 'slots that are free are written over' 's/if \(moves && !\(.*\)\)$/if (moves \&\& !m->writes)/'
plant objects 100 objects.c 'too few values are written' 's/m->writes && all != m->room/0/'
plant objects 100 object.h 'debug mode fills nothing new' 's/quarry_object_fill\(h->fields, o, QUARRY_OBJECT_FRESH\);/;/'
plant objects 100 object.h 'debug mode fills elements of other objects' 's/\(uint64_t\)e \* capacity \* f->bytes/(uint64_t)e * f->bytes/'
plant objects 100 object.h 'debug mode fills what is deleted twice' 's/if \(!wrong && h->fields &&/if (0 \&\&/'
finish
