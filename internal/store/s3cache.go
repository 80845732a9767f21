package store

import (
	"bytes"
	"cmp"
	"container/list"
	"slices"
	"sync"
)

// headSize is how much of an object the first request reads. It holds the header of a
// dump and the whole of small files.
const headSize = 64 << 10

// heads is how many bytes of heads are remembered, of all that may be in memory.
func (s *S3Settings) heads() int64 { return s.Cache / 8 }

// heads are the first bytes of objects that were read last.
type heads struct {
	mu    sync.Mutex
	max   int64
	bytes int64
	order list.List // of *head, the one used last in front
	byID  map[string]*list.Element
}

type head struct {
	id   string
	data []byte
}

func newHeads(limit int64) *heads { return &heads{max: limit, byID: map[string]*list.Element{}} }

// get returns the first bytes of an object, nil when they are not remembered.
func (h *heads) get(id string) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.byID[id]
	if e == nil {
		return nil
	}
	h.order.MoveToFront(e)
	return e.Value.(*head).data
}

// put remembers the first bytes of an object.
func (h *heads) put(id string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID[id] != nil {
		return
	}
	h.byID[id] = h.order.PushFront(&head{id, data})
	for h.bytes += int64(len(data)); h.bytes > h.max; {
		last := h.order.Remove(h.order.Back()).(*head)
		delete(h.byID, last.id)
		h.bytes -= int64(len(last.data))
	}
}

// trim forgets what lies behind the first n bytes of an object.
func (h *heads) trim(id string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.byID[id]
	if e == nil {
		return
	}
	if kept := e.Value.(*head); n < len(kept.data) {
		h.bytes -= int64(len(kept.data) - n)
		kept.data = bytes.Clone(kept.data[:n])
	}
}

// blockKey is a piece of an object.
type blockKey struct {
	id     string
	off, n int64
}

// block is a piece of an object in memory, or on its way there.
type block struct {
	key   blockKey
	data  []byte
	at    int64 // of data in the memory of all blocks
	ready chan struct{}
	err   error  // of loading it, once it is ready
	turn  int64  // of the reader: those that came first go on first
	seen  []bool // the pages that were read to their ends
	left  int    // pages that were not
	users int    // that must find it where it is
}

// blocks are pieces of objects in memory. All of them together, those on their way too,
// take at most a number of bytes, which are taken before a request is sent. A reader
// that waits for them holds no block, and one that holds a block does not wait for other
// readers before it lets go: so any number of readers comes to its end.
type blocks struct {
	max int64

	mu     sync.Mutex
	freed  sync.Cond
	memory []byte // of all blocks, got when the first one is
	gaps   []span // of memory, by their place; none touches another
	unread int64  // bytes of blocks that are not read to their end
	byKey  map[blockKey]*block
}

// span is a piece of memory.
type span struct{ at, n int64 }

// pageSize is what pieces of memory are multiples of, in which it is noted what was read.
const pageSize = 4 << 10

func newBlocks(limit int64) *blocks {
	b := &blocks{max: pages(limit), byKey: map[blockKey]*block{}}
	b.freed.L = &b.mu
	return b
}

// wanting says how much a reader wants a block: what it may take for it.
type wanting int

const (
	// perhaps takes what is free or read to its end, and leaves some of it to others.
	perhaps wanting = iota
	// soon takes what is free or read to its end.
	soon
	// now takes what others wait for least, and waits until there is something.
	now
)

// find returns a block in use by the caller. A new one has no data yet: the caller loads
// it. There may be none unless it is wanted now; then the result is nil.
func (b *blocks) find(key blockKey, turn int64, want wanting) (found *block, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if found = b.byKey[key]; found != nil {
			found.users++
			found.turn = turn
			return found, false
		}
		if want == perhaps && b.unread+key.n > b.max/8*5 {
			return nil, false
		}
		if at, ok := b.take(key.n, want == now); ok {
			found = &block{key: key, data: b.memory[at : at+key.n : at+key.n], at: at, ready: make(chan struct{}), turn: turn, users: 1}
			found.left = int(pages(key.n) / pageSize)
			found.seen = make([]bool, found.left)
			b.byKey[key] = found
			b.unread += key.n
			return found, true
		}
		if want != now {
			return nil, false
		}
		b.freed.Wait()
	}
}

// take finds memory for a block. With force others may lose one that is not read.
func (b *blocks) take(n int64, force bool) (at int64, ok bool) {
	if b.memory == nil {
		b.memory = newBuffer(b.max)
		b.gaps = []span{{0, b.max}}
	}
	n = pages(n)
	for {
		for i := range b.gaps {
			gap := &b.gaps[i]
			if gap.n < n {
				continue
			}
			at = gap.at
			gap.at, gap.n = gap.at+n, gap.n-n
			if gap.n == 0 {
				b.gaps = slices.Delete(b.gaps, i, i+1)
			}
			return at, true
		}
		if !b.giveUp(force) {
			return 0, false
		}
	}
}

// pages is the memory that n bytes take.
func pages(n int64) int64 { return (n + pageSize - 1) / pageSize * pageSize }

// giveUp gives a block up that nobody uses: one that was read to its end; else, with
// force, the last one of the reader that came last.
func (b *blocks) giveUp(force bool) bool {
	var victim *block
	for _, k := range b.byKey {
		switch {
		case k.users > 0 || k.left > 0 && !force:
		case victim == nil, k.left == 0 && victim.left > 0:
			victim = k
		case k.left > 0 && victim.left > 0 && (k.turn > victim.turn || k.turn == victim.turn && k.key.off > victim.key.off):
			victim = k
		}
	}
	if victim == nil {
		return false
	}
	b.finished(victim)
	delete(b.byKey, victim.key)
	b.free(victim)
	return true
}

// free makes the memory of a block a gap.
func (b *blocks) free(k *block) {
	gap := span{k.at, pages(k.key.n)}
	i, _ := slices.BinarySearchFunc(b.gaps, gap.at, func(s span, at int64) int { return cmp.Compare(s.at, at) })
	if i < len(b.gaps) && gap.at+gap.n == b.gaps[i].at {
		gap.n += b.gaps[i].n
		b.gaps = slices.Delete(b.gaps, i, i+1)
	}
	if i > 0 && b.gaps[i-1].at+b.gaps[i-1].n == gap.at {
		b.gaps[i-1].n += gap.n
		return
	}
	b.gaps = slices.Insert(b.gaps, i, gap)
}

// loaded says that a new block has its data, or why not.
func (b *blocks) loaded(k *block, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.err = err; err != nil {
		b.finished(k)
		delete(b.byKey, k.key)
	}
	close(k.ready)
}

// release ends the use of a block, of which the caller has read a piece.
func (b *blocks) release(k *block, read span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.left > 0 && read.n > 0 {
		end := read.at + read.n
		to := int(end / pageSize)
		if end == k.key.n {
			to = len(k.seen)
		}
		for i := int(read.at / pageSize); i < to; i++ {
			if !k.seen[i] {
				k.seen[i] = true
				k.left--
			}
		}
		if k.left == 0 {
			b.unread -= k.key.n
		}
	}
	if k.users--; k.users > 0 {
		return
	}
	if k.err != nil {
		b.free(k)
	}
	b.freed.Broadcast()
}

// finished says that nobody will read more of a block.
func (b *blocks) finished(k *block) {
	if k.left > 0 {
		k.left = 0
		b.unread -= k.key.n
	}
}

// finish says that a reader will read no more of an object: its blocks are given up
// before others.
func (b *blocks) finish(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, k := range b.byKey {
		if key.id == id {
			b.finished(k)
		}
	}
	b.freed.Broadcast()
}
