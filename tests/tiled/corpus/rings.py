"""Random transfers on the ring: from the infeed and from tiles, to tiles, the classifier and the sink."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.tiled.corpus.moves import bitmap, produced, rows_of, unit_bytes
from tests.tiled.corpus.sketch import CONSTANT_ROWS, Buffer, Sketch
from tilesim.arithmetic.classify import bytes_made
from tilesim.arithmetic.requantise import float_bits
from tilesim.tiled.isa.model.fields import ORDINALS, ByteFilter, Channel, Engine, Traversal, Watcher, channels_of
from tilesim.tiled.isa.model.instructions import (
    Classify,
    Infeed,
    Outfeed,
    RingConsume,
    RingProduce,
    increments,
    raised_flag,
)
from tilesim.tiled.isa.model.sheet import CONSUMERS

MOST_ROWS = 4
MOST_CHOSEN = 80
MOST_CROWDED = 12
SOFTMAX = (int(float_bits(0.1)[0]), int(float_bits(1 / 256)[0]), -128, -128, 127)


def _function(elements: int, row_bytes: int) -> tuple[str, tuple[int, ...]]:
    """What the classifier makes of so many elements, and its scaling. Of few elements the places may take several rows;
    of many it is mostly a softmax, of whose rows some wait.
    """
    many = elements > row_bytes
    function = ("softmax", "argmax", "top_k_values", "top_k_indices")[elements % 4]
    if function == "softmax" or (many and elements % 16 > 3):
        return "softmax", SOFTMAX
    k = 3 if many else (1, 2, 7, elements if elements <= MOST_CHOSEN else 4)[elements // 4 % 4]
    return function, () if function == "argmax" else (min(k, elements),)


@dataclass(frozen=True)
class Sent:
    """A transfer: the nodes of its master and of the last stop that takes it, the tiles that do, and the section."""

    master: int
    last: int
    takers: tuple[int, ...]
    section: int
    beyond: bool
    """Whether the classifier or the sink take it."""
    channel: Channel


@dataclass
class Ring:
    """What has been sent so far, and what of it no fence has waited for."""

    sketch: Sketch
    sent: list[Sent] = field(default_factory=list)
    loose: list[Sent] = field(default_factory=list)
    section: int = 0
    channel: Channel = Channel.A
    """That of what is being sent."""

    @property
    def nodes(self) -> int:
        return self.sketch.tiles + 3

    @property
    def classifier(self) -> int:
        return self.sketch.tiles

    @property
    def sink(self) -> int:
        return self.sketch.tiles + 1

    def beyond(self) -> None:
        """Rows from somewhere to the classifier or the sink, to which channel B doesn't go."""
        self.channel = Channel.A
        self.sketch.random.choice((self._classified, self._classified, self._to_sink))(self._master())

    def feed(self, taker: int | None = None) -> None:
        """Many rows from the infeed to a tile, or to ``taker``, in one or more instructions."""
        random = self.sketch.random
        self._choose()
        taker = random.randrange(self.sketch.tiles) if taker is None else taker
        for _ in range(random.choice((1, 1, 2, 4))):
            self._to_tiles(0, (taker,), random.choice((1, 2, 10)))

    def singles(self) -> None:
        """Single rows from any tile to any other, in no order: they can't lie inside one another."""
        sketch, tiles = self.sketch, range(self.sketch.tiles)
        if len(tiles) < 2 or sketch.chip.ring.queue == "shared":  # where takers would be in the way of masters
            return
        self.barrier()
        self._choose()
        ways = [tuple(sketch.random.sample(tiles, 2)) for _ in range(sketch.random.randint(4, 16))]
        sources = [sketch.source("wide", sketch.row, (tile,)) for tile, _ in ways]
        takers = [taker for _, taker in ways]
        for tile in sorted({*takers}):
            self._post_consumer((tile,), takers.count(tile), whole=True)
        for (tile, taker), (source, at) in zip(ways, sources, strict=True):
            self._note(tile + 1, taker + 1, (taker,))
            self._produce(tile, 1 << taker, source, rows_of(at, 1, sketch.row), 0)

    def _choose(self) -> None:
        """Mostly another channel than before, so that one has rows to wait for the other's."""
        if self.sketch.chip.ring.consumer_queues > 1 and self.sketch.maybe(0.6):
            self.channel = Channel.B if self.channel is Channel.A else Channel.A

    @property
    def _here(self) -> list[Sent]:
        """What is loose on this channel."""
        return [sent for sent in self.loose if sent.channel is self.channel]

    def crowd(self) -> None:
        """Rows on both channels for one tile at once, of which those of one channel wait there until some of the other
        have come.
        """
        sketch, random = self.sketch, self.sketch.random
        taker, channels = random.randrange(sketch.tiles), random.sample(list(Channel), 2)
        self.barrier()
        nodes = [node for node in range(sketch.tiles + 1) if node != taker + 1]
        masters = [random.choice(nodes) for _ in channels]
        rows = [random.randint(2, MOST_CROWDED) for _ in channels]
        wait: tuple[Watcher, ...] = ()
        for self.channel, count in zip(channels, rows, strict=True):
            wait = self._post_consumer((taker,), count, wait=wait)
        for self.channel, master, count in zip(channels, masters, rows, strict=True):
            self._note(master, taker + 1, (taker,))
            self._send(master, 1 << taker, count, 0)

    def _master(self) -> int:
        tiles = [tile + 1 for tile in range(self.sketch.tiles)]
        here = self._here
        if here and all(0 in self._occupied(sent.master, sent.last) for sent in here) and self.sketch.maybe(0.8):
            return 0  # which has seen them all
        return self.sketch.random.choice((0, *tiles, *tiles))

    def transfer(self) -> None:
        """Rows from somewhere to some tiles."""
        self._choose()
        random, tiles, master = self.sketch.random, range(self.sketch.tiles), self._master()
        others = [tile for tile in tiles if tile + 1 != master]
        if not others:
            master, others = 0, list(tiles)
        near = [tile for tile in others if 0 < (tile + 1 - master) % self.nodes <= 2]
        takers = self.sketch.some(near if near and self.sketch.maybe(0.5) else others)
        times = 1
        if master == 0 and takers[-1] + 1 < self.sketch.tiles and self.sketch.maybe(0.3):
            times = random.randint(2, self.sketch.tiles - takers[-1])
        self._to_tiles(master, takers, random.randint(1, MOST_ROWS), times)

    def load(self) -> None:
        """Constants for all tiles, from data memory."""
        self.channel = Channel.A
        tiles, sketch = tuple(range(self.sketch.tiles)), self.sketch
        write = rows_of(sketch.first_row, CONSTANT_ROWS, sketch.row)
        sketch.post(RingConsume(tiles=bitmap(tiles), write=write, produce="o"))
        sketch.emit(Infeed(source="data", rows=CONSTANT_ROWS, address=0, to=bitmap(tiles)))
        self._note(0, tiles[-1] + 1, tiles)

    def barrier(self) -> None:
        """Go on only when all rows sent so far have been taken."""
        takers = sorted({tile for sent in self.loose for tile in sent.takers})
        sketch = self.sketch
        if takers:
            sketch.fence(takers, tuple(CONSUMERS[channel] for channel in channels_of(sketch.chip)), 1)
        beyond = any(sent.beyond for sent in self.loose)
        if takers or beyond:
            sketch.scalar_fence(sketch.fenced, ("outfeed",) if beyond else ())
        self.loose = []

    def _to_tiles(self, master: int, takers: tuple[int, ...], rows: int, times: int = 1) -> None:
        late = not self.sketch.unruly and self.sketch.maybe(0.2)
        wait = self._turn(master, takers[-1] + times, takers)
        if not late:
            self._consume(takers, rows, times)
        for k in range(times):
            self._note(master, self._last(master, [tile + k for tile in takers]), tuple(tile + k for tile in takers))
        self._send(master, bitmap(takers), rows, wait, times)
        if late:
            self._consume(takers, rows, times)

    def _consume(self, takers: tuple[int, ...], rows: int, times: int) -> None:
        """One instruction for all, or one each; those of several transfers each, too."""
        all_takers = sorted({tile + k for tile in takers for k in range(times)})
        counts = {tile: sum(tile - k in takers for k in range(times)) for tile in all_takers}
        if times == 1 and self.sketch.maybe(0.5):
            self._post_consumer(takers, rows)
            return
        for tile in all_takers:
            for _ in range(counts[tile]):
                self._post_consumer((tile,), rows)

    def _post_consumer(
        self, tiles: tuple[int, ...], rows: int, whole: bool = False, wait: tuple[Watcher, ...] = ()
    ) -> tuple[Watcher, ...]:
        """What may wait until it has taken some of its rows."""
        sketch, kept = self.sketch, None
        written = rows
        if sketch.chip.ring.byte_filter and not whole and sketch.maybe(0.5):
            kept = self._filter(rows)
            written = -(-kept.kept(rows * sketch.row) // sketch.row)
            if not written:
                kept, written = None, rows
        base, produce = sketch.place("wide", written * sketch.row), produced(sketch)
        wait = wait or (sketch.idle_watch(tiles[0]) if len(tiles) == 1 else ())
        op = RingConsume(
            tiles=bitmap(tiles),
            write=rows_of(base, written, sketch.row),
            filter=kept,
            channel=self.channel,
            wait=wait,
            produce=produce,
        )
        size = written * sketch.row
        flag = raised_flag(op)
        before = sketch.counts.get((tiles[0], flag), 0) - sketch.strict
        sketch.post(op, Buffer("wide", base, size, tiles, unit_bytes=unit_bytes(produce, sketch.row)))
        return (Watcher(flag, before + 1 + increments(op) // 2),) if produce else ()

    def _filter(self, rows: int) -> ByteFilter:
        random, row = self.sketch.random, self.sketch.row
        return ByteFilter(rows, random.choice((0, 0, 3, row)), random.randint(1, 2 * row), random.choice((0, 1, row)))

    def _send(self, master: int, to: int, rows: int, turn: int, times: int = 1) -> None:
        sketch = self.sketch
        if master == 0:
            self._infeed(to, rows, turn, times)
            return
        source, at = sketch.source("wide", rows * sketch.row, (master - 1,))
        self._produce(master - 1, to, source, rows_of(at, rows, sketch.row), turn)

    def _produce(self, tile: int, to: int, source: Buffer, read: Traversal, turn: int) -> None:
        sketch = self.sketch
        wait = sketch.watch(source, "r", sketch.row)
        if turn:
            wait = (*wait, Watcher(ORDINALS[self.channel], turn - sketch.strict))
        op = RingProduce(tiles=1 << tile, read=read, to=to, channel=self.channel, wait=wait, produce=produced(sketch))
        sketch.post(op)

    def _infeed(self, to: int, rows: int, turn: int, times: int) -> None:
        sketch, total = self.sketch, rows * times
        source = "host" if self.section and sketch.maybe(0.5) else "data"
        room = sketch.chip.data_memory.size_bytes // sketch.row - total
        address = sketch.random.randint(0, min(room, 30)) * sketch.row if source == "data" else 0
        sketch.host_rows += total if source == "host" else 0
        sketch.emit(
            Infeed(source=source, rows=rows, address=address, to=to, transfers=times, channel=self.channel, turn=turn)
        )

    def _to_sink(self, master: int) -> None:
        """To the host, or back to the infeed, which forwards them to a tile."""
        rows, sketch = self.sketch.random.randint(1, MOST_ROWS), self.sketch
        forwards = sketch.tiles > 1 and master != 1 and sketch.maybe(0.4)
        if forwards:
            self.barrier()
        turn = self._turn(master, self.sink + 1, (), beyond=True)
        if forwards:
            taker = sketch.random.randrange(max(1, master - 1)) if master else sketch.random.randrange(sketch.tiles)
            self._choose()
            self._post_consumer((taker,), rows)
            forwarding, self.channel = self.channel, Channel.A
            if master == 0:  # whose own rows must go first
                self._send(master, 1 << self.sink, rows, turn)
            self.channel = forwarding
            sketch.emit(Infeed(source="ring", rows=rows, to=1 << taker, channel=forwarding))
            self._note(0, taker + 1, (taker,))
            self.channel = Channel.A
        else:
            self._outfeed(rows)
        self._note(master, self.sink + 1, (), beyond=True)
        if master or not forwards:
            self._send(master, 1 << self.sink, rows, turn)
        if forwards:
            self.barrier()

    def _classified(self, master: int) -> None:
        sketch, random = self.sketch, self.sketch.random
        elements = random.randint(1, random.choice((1, 5)) * sketch.row)
        rows = -(-elements // sketch.row)
        turn = self._turn(master, self.classifier + 1, (), beyond=True)
        function, scaling = _function(elements, sketch.row)
        sketch.emit(Classify(rows=rows, elements=elements, function=function, scaling=scaling))
        made = -(-bytes_made(function, elements, scaling) // sketch.row)
        if sketch.maybe(0.4):
            self._outfeed(made)
            self._send(master, 1 << self.classifier, rows, turn)
        else:
            self._send(master, 1 << self.classifier, rows, turn)
            if sketch.maybe(0.7):  # late, so that results wait on the ring
                tiles = range(sketch.tiles)
                sketch.fence(tiles, (Engine.TENSOR, Engine.WIDE_TO_NARROW), 1)
                sketch.scalar_fence(sketch.fenced)
            self._outfeed(made)
        self._note(master, self.sink + 1, (), beyond=True)
        if not sketch.unruly:
            self.barrier()

    def _outfeed(self, rows: int) -> None:
        self.sketch.emit(Outfeed(output=len(self.sketch.outputs), rows=rows))
        self.sketch.outputs.append(rows)

    def _last(self, master: int, takers: list[int]) -> int:
        """The node of the last taker on the way."""
        return max((tile + 1 for tile in takers), key=lambda node: (node - master) % self.nodes)

    def _note(self, master: int, last: int, takers: tuple[int, ...], beyond: bool = False) -> None:
        sent = Sent(master, last, takers, self.section, beyond, self.channel)
        self.sent.append(sent)
        self.loose.append(sent)

    def _turn(self, master: int, last: int, takers: tuple[int, ...], beyond: bool = False) -> int:
        """How many tails the master must have seen, so that it meets none that is loose; if they do not tell, a fence
        has been issued.
        """
        if self.sketch.unruly:
            return 0
        last = last if beyond else self._last(master, list(takers))
        mine = self._occupied(master, last)
        behind = [s for s in self._here if s.master != master and (mine & self._occupied(s.master, s.last))]
        if not behind and self.sketch.maybe(0.8):
            return 0
        sees = all(master in self._occupied(sent.master, sent.last) for sent in self._here)
        if not sees or self.sketch.maybe(0.2):
            self.barrier()
            return 0
        here = [s for s in self.sent if s.channel is self.channel and master in self._occupied(s.master, s.last)]
        return sum(master != 0 or s.section == self.section for s in here)

    def _occupied(self, master: int, last: int) -> set[int]:
        return {(master + k) % self.nodes for k in range((last - master) % self.nodes + 1)}
