package store

import (
	"container/list"
	"sync"
)

// headSize is how much of an object the first request reads. It holds the header of a
// dump and the whole of small files.
const headSize = 64 << 10

// heads are the first bytes of objects, as many as were read of each when it was closed.
// Beyond a number of bytes any of them are forgotten: of a folder that is walked again
// and again the one that was used least recently would always be the next one.
type heads struct {
	max int64

	mu    sync.Mutex
	bytes int64
	byID  map[string][]byte
}

// get returns the first bytes of an object, nil when they are not remembered.
func (h *heads) get(id string) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[id]
}

// put remembers the first bytes of an object.
func (h *heads) put(id string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes += int64(len(data) - len(h.byID[id]))
	h.byID[id] = data
	for other, data := range h.byID {
		if h.bytes <= h.max {
			return
		}
		h.bytes -= int64(len(data))
		delete(h.byID, other)
	}
}

// span is a range of an object.
type span struct {
	id     string
	off, n int64
}

// block is a range of an object in memory, or on its way there.
type block struct {
	span
	data   []byte
	ready  chan struct{}
	err    error // of loading it, once it is ready
	unread int64 // bytes of which nobody has read as many yet
	users  int   // that must find it
}

// blocks are ranges of objects in memory, those on their way too. Beyond a number of
// bytes those are given up that were read, and then those that were used least recently.
// What is in use stays: there may be more by a block a reader.
type blocks struct {
	max int64

	mu     sync.Mutex
	bytes  int64
	unread int64     // of the blocks that were not read to their ends
	order  list.List // of *block, the next one to be given up at the back
	bySpan map[span]*list.Element
}

// How much a reader wants a block, by the eighths of the memory that blocks may take then
// that nobody has read yet.
const (
	perhaps = 5
	soon    = 8
	now     = 1 << 32
)

// find returns a block in use by the caller. A new one has no data yet: the caller loads
// it. Unless it is wanted now there may be no room; then the result is nil.
func (b *blocks) find(at span, want int64) (found *block, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.bySpan[at]; e != nil {
		b.order.MoveToFront(e)
		found = e.Value.(*block)
		found.users++
		return found, false
	}
	if want < now && b.unread+at.n > b.max/8*want {
		return nil, false
	}
	for e := b.order.Back(); e != nil && b.bytes+at.n > b.max; {
		last := e.Value.(*block)
		if e = e.Prev(); last.users == 0 {
			b.drop(last)
		}
	}
	found = &block{span: at, ready: make(chan struct{}), unread: at.n, users: 1}
	b.bySpan[at] = b.order.PushFront(found)
	b.bytes += at.n
	b.unread += at.n
	return found, true
}

// drop gives a block up.
func (b *blocks) drop(k *block) {
	b.read(k, k.unread)
	b.order.Remove(b.bySpan[k.span])
	delete(b.bySpan, k.span)
	b.bytes -= k.n
}

// read notes that bytes of a block were read. One that was read to its end is the next to
// be given up.
func (b *blocks) read(k *block, n int64) {
	if k.unread <= 0 || n <= 0 {
		return
	}
	if k.unread -= n; k.unread <= 0 {
		b.unread -= k.n
		b.order.MoveToBack(b.bySpan[k.span])
	}
}

// loaded says that a new block has its data, or why not.
func (b *blocks) loaded(k *block, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.err = err; err != nil {
		b.drop(k)
	}
	close(k.ready)
}

// release ends the use of a block, of which the caller has read so many bytes.
func (b *blocks) release(k *block, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k.users--
	b.read(k, n)
}

// finish says that a reader will read no more of an object: its blocks are given up
// before others.
func (b *blocks) finish(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at, e := range b.bySpan {
		if k := e.Value.(*block); at.id == id {
			b.read(k, k.unread)
		}
	}
}
