package store

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// blocks is a cache of ranges of objects, loaded or loading. Above max bytes blocks are evicted,
// but not while in use: the cache may exceed max by a block per reader.
type blocks struct {
	max int64

	mu     sync.Mutex
	bytes  int64
	unread int64     // bytes of blocks that were not read to their ends
	order  list.List // of *block, most recently used first
	bySpan map[span]*list.Element
}

// block is a range of an object in memory, loaded or loading.
type block struct {
	span
	object *sharedObject
	data   []byte
	ready  chan struct{}
	err    error // load error, valid when ready is closed
	unread int64 // bytes still to be read, by any reader
	users  int   // readers that use the block now
	// isFinished: the object has no readers any more.
	isFinished bool
}

// span is a range of an object.
type span struct {
	id     string
	off, n int64
}

// Priority of a block: the eighths of the cache that unread blocks may fill including the new one.
const (
	priorityLow  = 5
	prioritySoon = 8
	priorityNow  = 1 << 32
)

// find returns a block in use by the caller. A new block has no data: the caller loads it. If the
// priority is not now and the cache has no room, the result is nil.
func (b *blocks) find(of *sharedObject, at span, want int64) (found *block, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.bySpan[at]; e != nil {
		b.order.MoveToFront(e)
		found = e.Value.(*block)
		found.users++
		found.object, found.isFinished = of, false
		return found, false
	}
	if want < priorityNow && b.unread+at.n > b.max/8*want {
		return nil, false
	}
	found = &block{span: at, object: of, data: b.makeRoom(at), ready: make(chan struct{}), unread: at.n, users: 1}
	b.bySpan[at] = b.order.PushFront(found)
	b.bytes += at.n
	b.unread += at.n
	return found, true
}

// makeRoom evicts blocks for a new one while the cache is too full, and returns the memory of an
// evicted block of similar size; nil for none.
func (b *blocks) makeRoom(at span) (data []byte) {
	for b.bytes+at.n > b.max {
		k := b.nextEvicted(at.id)
		if k == nil {
			break
		}
		b.evict(k)
		if size := int64(cap(k.data)); data == nil && size >= at.n && size/2 < at.n {
			data = k.data[:at.n]
		} else {
			freeBuffer(k.data)
		}
	}
	return data
}

// Order of eviction. First blocks of objects without readers; then blocks read to the end, from the
// end of their objects, because another pass begins at the start; then the last block of the object
// that needs room, so that random reads of an object larger than the cache evict no other object;
// then read blocks of objects that will be opened again; finally unread blocks, least recently used
// first.
const (
	evictUnused = iota
	evictRead
	evictOwn
	evictReopened
	evictUnread
)

// evictionRank returns the eviction rank of a block if object id needs room.
func (k *block) evictionRank(id string) int {
	switch {
	case k.isFinished:
		return evictUnused
	case k.unread <= 0 && k.object.kept.Load() == 0:
		return evictRead
	case k.id == id:
		return evictOwn
	case k.unread <= 0:
		return evictReopened
	}
	return evictUnread
}

// nextEvicted returns the next block to evict if object id needs room.
func (b *blocks) nextEvicted(id string) (best *block) {
	rank := evictUnread + 1
	for e := b.order.Back(); e != nil; e = e.Prev() {
		k := e.Value.(*block)
		if k.users > 0 {
			continue
		}
		switch r := k.evictionRank(id); {
		case r < rank:
			best, rank = k, r
		case r == rank && (r == evictRead || r == evictOwn) && k.off > best.off:
			best = k
		}
	}
	return best
}

// evict evicts a block. If its object will be opened again, the block goes to the disk.
func (b *blocks) evict(k *block) {
	if k.err == nil && k.object.kept.Load() > 0 {
		k.object.disk.write(k)
	}
	b.recordRead(k, k.unread)
	b.order.Remove(b.bySpan[k.span])
	delete(b.bySpan, k.span)
	b.bytes -= k.n
}

// recordRead records that n bytes of a block were read.
func (b *blocks) recordRead(k *block, n int64) {
	if k.unread > 0 {
		if k.unread -= n; k.unread <= 0 {
			b.unread -= k.n
		}
	}
}

// setLoaded marks a new block as loaded, or as failed with err.
func (b *blocks) setLoaded(k *block, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.err = err; err != nil {
		b.evict(k)
		freeBuffer(k.data)
	}
	close(k.ready)
}

// release ends the use of a block after the caller has read n bytes of it.
func (b *blocks) release(k *block, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k.users--
	b.recordRead(k, n)
}

// markUnused marks the blocks of an object without readers: they are evicted first.
func (b *blocks) markUnused(c *sharedObject) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := b.order.Front(); e != nil; e = e.Next() {
		if k := e.Value.(*block); k.object == c {
			b.recordRead(k, k.unread)
			k.isFinished = true
		}
	}
}

// dropInvalid drops the invalid blocks of an object.
func (b *blocks) dropInvalid(c *sharedObject, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for e := b.order.Front(); e != nil; {
		k := e.Value.(*block)
		e = e.Next()
		if k.object == c && k.users == 0 {
			k.err = why
			b.evict(k)
			freeBuffer(k.data)
		}
	}
}

// headSize is the size of the first request for an object. It covers the header of a dump and the
// whole of small files.
const headSize = 64 << 10

// headCache caches the first bytes of objects, as much as was read before they were closed. Eviction is
// random: with least-recently-used eviction, repeated walks of a large folder would never hit.
type headCache struct {
	max int64

	mu    sync.Mutex
	bytes int64
	byID  map[string][]byte
}

// get returns the first bytes of an object, nil if not cached.
func (h *headCache) get(id string) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[id]
}

// cacheHead caches the first bytes of an object.
func (h *headCache) cacheHead(id string, data []byte) {
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

// drop removes the first bytes of an object.
func (h *headCache) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes -= int64(len(h.byID[id]))
	delete(h.byID, id)
}

// sharedObject is the state that all readers of an object share: the block size, so that each block is
// fetched once, the blocks on disk, the head, the MD5.
type sharedObject struct {
	id    string
	users int          // guarded by the lock of the table
	kept  atomic.Int64 // calls of Keep: the object will be opened again
	disk  spill

	hasMD5   atomic.Bool // a response says that the ETag is the MD5
	compared atomic.Bool // the MD5 was compared

	heading  sync.Mutex // held while the head is fetched
	head     []byte     // the fetched beginning of the object
	headRead int        // bytes of the head that were read
	isSmall  bool       // the head is the whole object, and cached whole

	sizeLock  sync.Mutex
	blockSize int64 // block size, 0 before the first block
	fromStart bool  // blocks begin at offset 0, else after the head
}

// fixBlocks fixes the blocks of the object on the first call and returns them.
func (c *sharedObject) fixBlocks(size int64, whole bool) (int64, bool) {
	c.sizeLock.Lock()
	defer c.sizeLock.Unlock()
	if c.blockSize == 0 {
		c.blockSize, c.fromStart = size, whole
	}
	return c.blockSize, c.fromStart
}

// sharedTable has the shared state of all objects in use.
type sharedTable struct {
	spool *spool

	mu   sync.Mutex
	byID map[string]*sharedObject
}

// addUser adds a user of an object; leave removes it.
func (all *sharedTable) addUser(id string) *sharedObject {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.byID[id]
	if c == nil {
		c = &sharedObject{id: id, disk: spill{spool: all.spool}}
		all.byID[id] = c
	}
	c.users++
	return c
}

// removeUser removes a user and reports whether it was the last.
func (all *sharedTable) removeUser(c *sharedObject) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if c.users--; c.users > 0 {
		return false
	}
	delete(all.byID, c.id)
	c.disk.close()
	return true
}
