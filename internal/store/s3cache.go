package store

import (
	"container/list"
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

// blockKey is a piece of an object.
type blockKey struct {
	id     string
	off, n int64
}

// block is a piece of an object in memory, or on its way there.
type block struct {
	key   blockKey
	data  []byte // its buffer, longer than the piece
	ready chan struct{}
	err   error // of loading it, once it is ready
	done  bool  // read to its end by somebody
	users int   // that must find it where it is
	order *list.Element
}

// blocks are pieces of objects in memory. All of them together, those on their way and
// free buffers too, take at most a number of bytes, which are taken before a request is
// sent. A reader that waits for them holds no block, and one that holds a block does not
// wait for other readers before it lets go: so any number of readers comes to its end.
type blocks struct {
	max int64

	mu     sync.Mutex
	freed  sync.Cond
	used   int64
	byKey  map[blockKey]*block
	unused list.List          // of *block without users; those to give up first in front
	free   map[int64][][]byte // buffers without a block, by their size
}

func newBlocks(limit int64) *blocks {
	b := &blocks{max: limit, byKey: map[blockKey]*block{}, free: map[int64][][]byte{}}
	b.freed.L = &b.mu
	return b
}

// find returns a block in use by the caller. A new one has no data yet: the caller loads
// it. There may be none when it would have to be waited for, or another reader's block
// given up that is not read to its end: then, without wait, the result is nil.
func (b *blocks) find(key blockKey, wait bool) (found *block, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := int64(minBlock)
	for size < key.n {
		size *= 2
	}
	size = min(size, b.max)
	for {
		if found = b.byKey[key]; found != nil {
			b.use(found)
			return found, false
		}
		if data := b.take(size, wait); data != nil {
			found = &block{key: key, data: data, ready: make(chan struct{}), users: 1}
			b.byKey[key] = found
			return found, true
		}
		if !wait {
			return nil, false
		}
		b.freed.Wait()
	}
}

func (b *blocks) use(k *block) {
	if k.users++; k.order != nil {
		b.unused.Remove(k.order)
		k.order = nil
	}
}

// take finds a buffer of that size, nil when there is no room for one.
func (b *blocks) take(size int64, force bool) []byte {
	for {
		if same := b.free[size]; len(same) > 0 {
			b.free[size] = same[:len(same)-1]
			return same[len(same)-1]
		}
		if b.used+size <= b.max {
			b.used += size
			return newBuffer(size)
		}
		if !b.giveUpBuffer() && !b.giveUpBlock(force) {
			return nil
		}
	}
}

// giveUpBuffer gives memory of free buffers back.
func (b *blocks) giveUpBuffer() bool {
	for size, same := range b.free {
		if n := len(same); n > 0 {
			freeBuffer(same[n-1])
			b.free[size] = same[:n-1]
			b.used -= size
			return true
		}
	}
	return false
}

// giveUpBlock makes the buffer of a block free. Without force it must be one that was
// read to its end.
func (b *blocks) giveUpBlock(force bool) bool {
	first := b.unused.Front()
	if first == nil {
		return false
	}
	k := first.Value.(*block)
	if !force && !k.done {
		return false
	}
	b.forget(k)
	return true
}

// forget makes the buffer of a block without users free.
func (b *blocks) forget(k *block) {
	if k.order != nil {
		b.unused.Remove(k.order)
	}
	if b.byKey[k.key] == k {
		delete(b.byKey, k.key)
	}
	size := int64(len(k.data))
	b.free[size] = append(b.free[size], k.data)
}

// loaded says that a new block has its data, or why not.
func (b *blocks) loaded(k *block, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.err = err; err != nil {
		delete(b.byKey, k.key)
	}
	close(k.ready)
}

// release ends the use of a block.
func (b *blocks) release(k *block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.users--; k.users > 0 {
		return
	}
	switch {
	case k.err != nil:
		b.forget(k)
	case k.done:
		k.order = b.unused.PushFront(k)
	default:
		k.order = b.unused.PushBack(k)
	}
	b.freed.Broadcast()
}

// finish says that a reader has read a block to its end: it is given up before others.
func (b *blocks) finish(key blockKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.byKey[key]
	if k == nil {
		return
	}
	k.done = true
	if k.order != nil {
		b.unused.MoveToFront(k.order)
	}
}
