package store

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// blocks are ranges of objects in memory, those on their way too. Beyond a number of
// bytes blocks are given up, but none that is in use: there may be more by a block a
// reader.
type blocks struct {
	max int64

	mu     sync.Mutex
	bytes  int64
	unread int64     // of the blocks that were not read to their ends
	order  list.List // of *block, the one that was used last in front
	bySpan map[span]*list.Element
}

// block is a range of an object in memory, or on its way there.
type block struct {
	span
	of     *shared
	data   []byte
	ready  chan struct{}
	err    error // of loading it, once it is ready
	unread int64 // bytes of which nobody has read as many yet
	users  int   // that must find it
	// finished is set once nobody reads the object any more.
	finished bool
}

// span is a range of an object.
type span struct {
	id     string
	off, n int64
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
func (b *blocks) find(of *shared, at span, want int64) (found *block, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.bySpan[at]; e != nil {
		b.order.MoveToFront(e)
		found = e.Value.(*block)
		found.users++
		found.of, found.finished = of, false
		return found, false
	}
	if want < now && b.unread+at.n > b.max/8*want {
		return nil, false
	}
	found = &block{span: at, of: of, data: b.makeRoom(at), ready: make(chan struct{}), unread: at.n, users: 1}
	b.bySpan[at] = b.order.PushFront(found)
	b.bytes += at.n
	b.unread += at.n
	return found, true
}

// makeRoom gives blocks up for a new one, as far as that helps, and returns the memory of
// one that is about as long; nil for none.
func (b *blocks) makeRoom(at span) (data []byte) {
	for b.bytes+at.n > b.max {
		k := b.victim(at.id)
		if k == nil {
			break
		}
		b.drop(k)
		if size := int64(cap(k.data)); data == nil && size >= at.n && size/2 < at.n {
			data = k.data[:at.n]
		} else {
			freeBuffer(k.data)
		}
	}
	return data
}

// What is given up first: blocks of objects that nobody reads any more; those that were read
// to their ends, the last ones of their objects first, since who reads an object again begins
// at its beginning; the last one of the object itself that needs room, so that who reads all
// over one that is larger than the memory takes no block from others; those of objects that
// will be opened again; and at last those that nobody has read, used least recently.
const (
	ofNobody = iota
	wasRead
	ofItself
	ofOthers
	unread
)

// rank is the place of a block among those that can be given up for one of an object.
func (k *block) rank(id string) int {
	switch {
	case k.finished:
		return ofNobody
	case k.unread <= 0 && k.of.kept.Load() == 0:
		return wasRead
	case k.id == id:
		return ofItself
	case k.unread <= 0:
		return ofOthers
	}
	return unread
}

// victim is the next block to be given up for one of an object.
func (b *blocks) victim(id string) (best *block) {
	rank := unread + 1
	for e := b.order.Back(); e != nil; e = e.Prev() {
		k := e.Value.(*block)
		if k.users > 0 {
			continue
		}
		switch r := k.rank(id); {
		case r < rank:
			best, rank = k, r
		case r == rank && (r == wasRead || r == ofItself) && k.off > best.off:
			best = k
		}
	}
	return best
}

// drop gives a block up. One of an object that will be opened again goes to the disk.
func (b *blocks) drop(k *block) {
	if k.err == nil && k.of.kept.Load() > 0 {
		k.of.again.write(k)
	}
	b.read(k, k.unread)
	b.order.Remove(b.bySpan[k.span])
	delete(b.bySpan, k.span)
	b.bytes -= k.n
}

// read notes that bytes of a block were read.
func (b *blocks) read(k *block, n int64) {
	if k.unread > 0 {
		if k.unread -= n; k.unread <= 0 {
			b.unread -= k.n
		}
	}
}

// loaded says that a new block has its data, or why not.
func (b *blocks) loaded(k *block, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.err = err; err != nil {
		b.drop(k)
		freeBuffer(k.data)
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

// finish says that nobody reads an object any more: its blocks are given up before others.
func (b *blocks) finish(c *shared) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := b.order.Front(); e != nil; e = e.Next() {
		if k := e.Value.(*block); k.of == c {
			b.read(k, k.unread)
			k.finished = true
		}
	}
}

// forget drops the blocks of an object that are wrong.
func (b *blocks) forget(c *shared, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := b.order.Front(); e != nil; {
		k := e.Value.(*block)
		e = e.Next()
		if k.of == c && k.users == 0 {
			k.err = why
			b.drop(k)
			freeBuffer(k.data)
		}
	}
}

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

// drop forgets the first bytes of an object.
func (h *heads) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes -= int64(len(h.byID[id]))
	delete(h.byID, id)
}

// shared is what all readers of an object have in common: the size of its blocks, so that
// each block is fetched once, the blocks on the disk, the head, the MD5.
type shared struct {
	id    string
	users int          // under the lock of the table
	kept  atomic.Int64 // users that say that the object will be opened again
	again spill

	hasMD5   atomic.Bool // an answer says that the ETag is the MD5
	compared atomic.Bool // with what was read

	heading  sync.Mutex // is held while the head is fetched
	head     []byte     // the beginning of the object, as far as somebody knows it
	headRead int        // bytes of the head that were read
	isSmall  bool       // the head is the whole object, and remembered as a whole

	settled sync.Mutex
	size    int64 // of blocks, 0 before the first one
	all     bool  // from the beginning on, else from the end of the head on
}

// settle returns the blocks of the object, which are those that were settled first.
func (c *shared) settle(size int64, whole bool) (int64, bool) {
	c.settled.Lock()
	defer c.settled.Unlock()
	if c.size == 0 {
		c.size, c.all = size, whole
	}
	return c.size, c.all
}

// sharedTable has what readers share of the objects in use.
type sharedTable struct {
	spool *spool

	mu   sync.Mutex
	byID map[string]*shared
}

// take begins a use of an object, which leave ends.
func (all *sharedTable) take(id string) *shared {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.byID[id]
	if c == nil {
		c = &shared{id: id, again: spill{spool: all.spool}}
		all.byID[id] = c
	}
	c.users++
	return c
}

// leave ends a use, and reports whether it was the last one.
func (all *sharedTable) leave(c *shared) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if c.users--; c.users > 0 {
		return false
	}
	delete(all.byID, c.id)
	c.again.close()
	return true
}
