package store

import (
	"bytes"
	"fmt"
	"hash"
	"io"
	"net/http"
	"sync"

	"dumptool/internal/guard"
	"dumptool/internal/lang"
)

// s3Object is an open object. For whole reads it is fetched in equal blocks from offset 0;
// otherwise its head is read first, and blocks begin after the head. After two consecutive blocks
// the next block is fetched ahead.
type s3Object struct {
	*sharedObject
	s           *s3
	bucket, key string
	size        int64
	etag        string

	mu        sync.Mutex
	minHead   int64     // minimum number of bytes of the head to fetch
	isWhole   bool      // will be read from beginning to end
	isBegun   bool      // will be read beyond the head
	block     int64     // block size; 0 before the first block
	small     int       // jumps that fetched a small block
	next      int64     // offset after the last read
	last      span      // block of the last read
	sum       hash.Hash // MD5 of the bytes read in order
	summed    int64     // bytes in the sum
	broken    error     // the MD5 does not match
	requested []bool    // blocks that were requested, for whole reads
	closed    bool
}

// maxSmall is the number of jumps that fetch small blocks only: the directory at the end of an
// archive is small, but more jumps mean random reads of the whole object.
const maxSmall = 4

// Open implements Objects. For an object of unknown size it reads the head.
func (s *s3) Open(bucket string, o Object) (Source, error) {
	var head []byte
	if o.Size < 0 {
		var err error
		head, err = s.read(bucket, &o, 0, make([]byte, headSize))
		if answer := statusOf(err); answer != nil && answer.status == http.StatusRequestedRangeNotSatisfiable {
			o, err = s.Head(bucket, o.Key) // an empty object has no range
		}
		if err != nil {
			return nil, s.explain("read "+o.Key, err)
		}
	}
	f := &s3Object{s: s, sharedObject: s.shared.addUser(idOf(bucket, &o)), bucket: bucket, key: o.Key, size: o.Size, etag: o.ETag, next: headSize}
	f.heading.Lock()
	defer f.heading.Unlock()
	for _, known := range [][]byte{head, s.heads.get(f.id)} {
		if len(known) > len(f.head) {
			f.head = known
		}
	}
	f.isSmall = f.size <= maxKept
	return f, nil
}

// idOf identifies an object and its version.
func idOf(bucket string, o *Object) string {
	return fmt.Sprintf("s3://%s/%s %d %s", bucket, o.Key, o.Size, o.ETag)
}

// announceReopen announces that an object will be opened several times, until done is called.
func (s *s3) announceReopen(bucket string, o *Object) (done func()) {
	c := s.shared.addUser(idOf(bucket, o))
	c.kept.Add(1)
	return sync.OnceFunc(func() {
		c.kept.Add(-1)
		s.removeUser(c)
	})
}

// removeUser removes a user of an object. After the last one its blocks are evicted first, and the part
// of its head that was read is cached.
func (s *s3) removeUser(c *sharedObject) {
	if !s.shared.removeUser(c) {
		return
	}
	s.blocks.markUnused(c)
	head := c.head
	if !c.isSmall {
		head = head[:min(len(head), (c.headRead+1023)/1024*1024)]
	}
	if len(head) > len(s.heads.get(c.id)) {
		s.heads.cacheHead(c.id, bytes.Clone(head))
	}
}

// Size implements Source.
func (f *s3Object) Size() int64 { return f.size }

// ID implements Source.
func (f *s3Object) ID() string { return f.id }

// maxKept is the maximum size of an object whose head is cached as a whole.
const maxKept = 16 << 10

// Close implements Source.
func (f *s3Object) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if f.block > 0 {
		f.s.active.Add(-1)
	}
	f.s.removeUser(f.sharedObject)
	return nil
}

// readWhole implements the function AnnounceFullRead.
func (f *s3Object) readWhole() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isWhole, f.minHead = f.size > headSize && f.block == 0, f.size
}

// ReadAt implements io.ReaderAt.
func (f *s3Object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, lang.Errorf("negative offset")
	}
	read := 0
	for read < len(p) && off < f.size {
		n, err := f.readSome(p[read:], off)
		if err != nil {
			return read, f.s.explain("read "+f.key, err)
		}
		if err := f.addToSum(p[read:read+n], off); err != nil {
			return read, f.s.explain("read "+f.key, err)
		}
		read += n
		off += int64(n)
	}
	if read < len(p) {
		return read, io.EOF
	}
	return read, nil
}

// readSome reads bytes of the head or of one block. For whole reads the head is part of the first
// block, unless the head is cached, or memory is short and other blocks are more urgent.
func (f *s3Object) readSome(p []byte, off int64) (int, error) {
	n := 0
	if off < headSize {
		f.heading.Lock()
		n = f.readHead(p, off)
		f.heading.Unlock()
	}
	if n > 0 {
		return n, nil
	}
	at, want, ahead := f.blockFor(off, int64(len(p)))
	if at.n == 0 {
		return f.fetchHead(p, off)
	}
	k, isNew := f.s.blocks.find(f.sharedObject, at, want)
	if k == nil {
		return f.fetchHead(p, off)
	}
	if isNew {
		f.load(k)
	}
	if ahead {
		start := at.off + at.n
		f.fetch(span{f.id, start, min(at.n, f.size-start)}, prioritySoon)
	}
	<-k.ready
	if k.err == nil {
		n = copy(p, k.data[off-at.off:])
	}
	f.s.blocks.release(k, int64(n))
	return n, k.err
}

// readHead reads the available bytes of the head.
func (f *s3Object) readHead(p []byte, off int64) int {
	if off >= int64(len(f.head)) {
		return 0
	}
	n := copy(p, f.head[off:])
	f.headRead = max(f.headRead, int(off)+n)
	return n
}

// fetchHead fetches as much of the head as needed and reads from it. To look at a large object it
// fetches a small part.
func (f *s3Object) fetchHead(p []byte, off int64) (int, error) {
	f.heading.Lock()
	defer f.heading.Unlock()
	if n := f.readHead(p, off); n > 0 { // another reader fetched it
		return n, nil
	}
	f.mu.Lock()
	least := f.minHead
	f.mu.Unlock()
	switch {
	case f.size <= maxKept:
		least = f.size
	case least == 0 || f.size > headSize:
		least = max(f.size/32, 4<<10)
	}
	data := make([]byte, min(max(least, off+int64(len(p)), 2*int64(len(f.head))), headSize, f.size))
	n := copy(data, f.head)
	o := f.object()
	if _, err := f.s.read(f.bucket, o, int64(n), data[n:]); err != nil {
		return 0, err
	}
	f.noteSum(o, n == 0 && int64(len(data)) == f.size)
	f.head = data
	return f.readHead(p, off), nil
}

func (f *s3Object) object() *Object { return &Object{Key: f.key, Size: f.size, ETag: f.etag} }

// blockFor returns the block for a read (empty if the head suffices), its priority, and whether to
// fetch the next block ahead.
func (f *s3Object) blockFor(off, n int64) (at span, want int64, ahead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isWhole && off < headSize {
		return span{}, priorityNow, false
	}
	f.chooseBlocks()
	if f.isWhole {
		want = priorityNow
		if f.isBegun = f.isBegun || off+n > headSize; !f.isBegun {
			want = priorityLow
		}
		i := off / f.block
		f.requested[i] = true
		// A block fetched before may have been read by another goroutine and evicted.
		if ahead = f.isBegun && i+1 < int64(len(f.requested)) && !f.requested[i+1]; ahead {
			f.requested[i+1] = true
		}
		return f.blockAt(off, f.block), want, ahead
	}
	if off >= f.last.off && off < f.last.off+f.last.n {
		f.next = max(f.next, off+n)
		return f.last, priorityNow, false
	}
	size := f.block
	if off != f.next && off != f.last.off+f.last.n && n < minBlock && f.small < maxSmall {
		f.small++
		size = min(size, minBlock)
	}
	at = f.blockAt(off, size)
	ahead = at.off == f.last.off+f.last.n && at.off+at.n < f.size
	f.last, f.next = at, off+n
	return at, priorityNow, ahead
}

// chooseBlocks fixes the blocks. For whole reads all blocks have about the same size. Later readers use
// the blocks of the first one.
func (f *s3Object) chooseBlocks() {
	if f.block > 0 {
		return
	}
	size := f.blockShare(f.s.active.Add(1))
	if f.isWhole {
		const unit = 4 << 10
		most := min(size/4*5, f.s.set.Block)
		count := (f.size + most - 1) / most
		size = ((f.size+count-1)/count + unit - 1) / unit * unit
	}
	if f.block, f.isWhole = f.fixBlocks(size, f.isWhole); f.isWhole {
		f.requested = make([]bool, (f.size+f.block-1)/f.block)
	}
}

// blockAt returns the block of some size that contains offset off.
func (f *s3Object) blockAt(off, size int64) span {
	first := int64(headSize)
	if f.isWhole {
		first = 0
	}
	start := first + (off-first)/size*size
	return span{f.id, start, min(size, f.size-start)}
}

// blockShare returns the largest block size, minBlock times a power of two, with which the cache holds two
// blocks for every active source, or one block if the source is read whole.
func (f *s3Object) blockShare(active int64) int64 {
	size := f.s.set.Block
	if !f.isWhole {
		active *= 2
	}
	for size > minBlock && active*size > f.s.set.Cache {
		size /= 2
	}
	return max(size, minBlock)
}

// prefetch fetches the first block of a range that will be read in order, if there is room.
func (f *s3Object) prefetch(off, n int64) {
	end := min(off+n, f.size)
	f.mu.Lock()
	if !f.isWhole {
		off = max(off, headSize)
	}
	if off >= end || f.closed {
		f.mu.Unlock()
		return
	}
	f.chooseBlocks()
	f.isBegun, f.next = true, off
	at := f.blockAt(off, f.block)
	if f.isWhole {
		f.requested[off/f.block] = true
	}
	f.mu.Unlock()
	f.fetch(at, priorityLow)
}

// fetch starts to load a block that is not cached.
func (f *s3Object) fetch(at span, want int64) {
	k, isNew := f.s.blocks.find(f.sharedObject, at, want)
	if k == nil {
		return
	}
	if !isNew {
		f.s.blocks.release(k, 0)
		return
	}
	guard.Go(func() error {
		f.load(k)
		return nil
	}, func(error) { f.s.blocks.release(k, 0) })
}

// load loads a block from the disk or the server. Its readers are woken even if it fails.
func (f *s3Object) load(k *block) {
	f.s.blocks.setLoaded(k, guard.Do(func() error {
		if k.data == nil {
			k.data = newBuffer(k.n)
		}
		if f.disk.load(k) {
			return nil
		}
		o := f.object()
		_, err := f.s.read(f.bucket, o, k.off, k.data)
		if err == nil {
			f.noteSum(o, k.n == f.size)
			f.disk.storeBlock(k, f.size)
		}
		return err
	}))
}
