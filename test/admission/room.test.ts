import assert from "node:assert/strict";
import { test } from "node:test";
import { Guest, Room } from "../../src/admission/room.ts";

const LIMITS = { all: 100, address: 2, identity: 3, tenant: 4, atOnce: 2 };

const inside = (room: Room<Guest>) => {
  const guest = new Guest();
  room.enter(guest);
  return guest;
};
/** A request of a known caller, and whether it has begun. */
function asked(room: Room<Guest>, caller = "ann") {
  const guest = inside(room);
  let begun = 0;
  const fits = room.countCaller(guest, caller);
  const taken = room.begin(guest, () => begun++);
  return { guest, fits, taken, begun: () => begun };
}
const begun = (all: { begun: () => number }[]) => all.map(one => one.begun());

test("an address, a caller and a tenant have so many inside, and places that are left are free again", () => {
  const room = new Room(LIMITS);
  const counts = [
    [2, (guest: Guest) => room.countAddress(guest, "192.0.2.1")],
    [3, (guest: Guest) => room.countCaller(guest, "ann")],
    [4, (guest: Guest) => room.countTenant(guest, "acme")],
  ] as const;
  for (const [most, count] of counts) {
    for (let round = 0; round < 2; round++) {
      const guests = Array.from({ length: most + 2 }, () => inside(room));
      assert.deepEqual(
        guests.map(count),
        guests.map((_, i) => i < most),
      );
      for (const guest of guests) room.leave(guest);
      assert.equal(room.guests.length, 0);
    }
  }
});

test("a caller counted under another tenant counts under that one only", () => {
  const room = new Room({ ...LIMITS, tenant: 1 });
  const [one, other] = [inside(room), inside(room)];
  assert.ok(
    room.countTenant(one, "acme") && room.countTenant(one, "acme"),
    "once, however often it is asked",
  );
  assert.ok(!room.countTenant(other, "acme"));
  assert.ok(room.countTenant(other, "globex"));
  room.leave(other);
  assert.ok(room.countTenant(inside(room), "globex"));
});

test("of one caller two work at once; the others begin in their order, when one rests or leaves", () => {
  const room = new Room(LIMITS);
  const all = Array.from({ length: 5 }, () => asked(room));
  const other = asked(room, "bob");
  assert.deepEqual([begun(all), other.begun()], [[1, 1, 0, 0, 0], 1]);
  room.rest(all[1]!.guest);
  room.rest(all[1]!.guest);
  assert.deepEqual(begun(all), [1, 1, 1, 0, 0]);
  room.leave(all[0]!.guest);
  assert.deepEqual(begun(all), [1, 1, 1, 1, 0]);
  room.rest(other.guest);
  assert.deepEqual(begun(all), [1, 1, 1, 1, 0], "another caller's end is none of theirs");
});

test("what leaves while it waits never begins, and those behind it do", () => {
  const room = new Room(LIMITS);
  const all = Array.from({ length: 4 }, () => asked(room));
  room.leave(all[2]!.guest);
  room.leave(all[2]!.guest);
  room.rest(all[0]!.guest);
  assert.deepEqual(begun(all), [1, 1, 0, 1]);
});

test("a full room takes nobody until one rests; who waits counts, who rests does not", () => {
  const room = new Room({ ...LIMITS, all: 3, identity: 100 });
  const all = Array.from({ length: 4 }, () => asked(room));
  assert.deepEqual(
    all.map(({ taken }) => taken),
    [true, true, true, false],
  );
  assert.ok(!asked(room, "bob").taken);
  room.rest(all[0]!.guest);
  assert.ok(asked(room, "bob").taken);
  for (const guest of room.guests.slice()) room.leave(guest);
  const again = asked(room);
  assert.deepEqual([again.taken, again.begun(), room.guests.length], [true, 1, 1]);
});

test("when one leaves, the others stay", () => {
  const room = new Room<Guest>(LIMITS);
  const all = Array.from({ length: 20 }, () => inside(room));
  for (const i of [0, 19, 7, 8, 18, 1]) {
    room.leave(all[i]!);
    room.leave(all[i]!);
  }
  const left = all.filter((_, i) => ![0, 19, 7, 8, 18, 1].includes(i));
  assert.deepEqual(new Set(room.guests), new Set(left));
});
