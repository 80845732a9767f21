package store

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// blocks is an LRU cache of ranges of objects, with the ranges that are being fetched. It holds
// max bytes, and more only while all of its blocks are in use: a block per reader.
type blocks struct {
	max int64

	mu     sync.Mutex
	bytes  int64
	order  list.List // of *block, the most recently used in front
	bySpan map[span]*list.Element
}

// block is a range of an object in memory, or on its way there.
type block struct {
	span
	of    *shared
	data  []byte
	ready chan struct{} // closed once data or err is there
	err   error
	users int // readers and fetches: the block stays while there are any
}

// span is a range of an object.
type span struct {
	id     string
	off, n int64
}

// find returns a block in use by the caller. The caller loads a new one.
func (b *blocks) find(of *shared, at span) (found *block, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.bySpan[at]; e != nil {
		b.order.MoveToFront(e)
		found = e.Value.(*block)
		found.users++
		found.of = of
		return found, false
	}
	found = &block{span: at, of: of, data: b.makeRoom(at.n), ready: make(chan struct{}), users: 1}
	b.bySpan[at] = b.order.PushFront(found)
	b.bytes += at.n
	return found, true
}

// makeRoom drops the least recently used blocks for n more bytes, and returns the memory of a
// dropped block of about that size, nil for none.
func (b *blocks) makeRoom(n int64) (data []byte) {
	for e := b.order.Back(); e != nil && b.bytes+n > b.max; {
		k := e.Value.(*block)
		e = e.Prev()
		if k.users > 0 {
			continue
		}
		b.drop(k)
		if size := int64(cap(k.data)); data == nil && size >= n && size/2 < n {
			data = k.data[:n]
		} else {
			freeBuffer(k.data)
		}
	}
	return data
}

// drop removes a block. A block of an object that will be opened again goes to the disk.
func (b *blocks) drop(k *block) {
	if k.err == nil && k.of.kept.Load() > 0 {
		k.of.again.write(k)
	}
	b.order.Remove(b.bySpan[k.span])
	delete(b.bySpan, k.span)
	b.bytes -= k.n
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

// release ends the use of a block.
func (b *blocks) release(k *block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k.users--
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
