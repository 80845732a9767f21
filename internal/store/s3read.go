package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

var (
	// errChanged is wrapped by errors about objects that are others by now.
	errChanged = errors.New("the object changed while it was read")
	// errBadAnswer is wrapped by errors about answers that break the rules of HTTP.
	errBadAnswer = errors.New("the server's answer is wrong")
	// errIdle ends a request that brings nothing.
	errIdle = fmt.Errorf("no byte came for %v", readTimeout)
)

// s3Object is an open object. It is read in blocks, which begin behind its head; once
// two of them follow each other, the next one is fetched ahead.
type s3Object struct {
	s           *s3
	bucket, key string
	size        int64
	etag        string
	id          string

	mu     sync.Mutex
	block  int64      // bytes of a block; 0 before the first one
	small  int        // reads that jumped, of which the first ones fetch little
	next   int64      // where a read follows the one before
	last   blockKey   // that was read last
	held   []blockKey // that are to be given up when it is closed
	closed bool
}

// maxSmall is how often a jump fetches little only: the directory at the end of an
// archive is small, and who jumps on reads all over the object.
const maxSmall = 4

// Open implements Objects. An object of an unknown size is found out about by reading
// its head.
func (s *s3) Open(bucket string, o Object) (Source, error) {
	f := &s3Object{s: s, bucket: bucket, key: o.Key, size: o.Size, etag: o.ETag, next: headSize}
	if o.Size < 0 {
		data, now, err := s.head(bucket, o.Key)
		if err != nil {
			return nil, s.explain("read "+o.Key, err)
		}
		f.size, f.etag = now.Size, now.ETag
		f.identify()
		s.heads.put(f.id, data)
	}
	f.identify()
	return f, nil
}

// head reads the beginning of an object that nothing is known of.
func (s *s3) head(bucket, key string) (data []byte, o Object, err error) {
	o = Object{Key: key, Size: -1}
	data, err = s.read(bucket, &o, 0, make([]byte, headSize))
	if answer := status(err); answer != nil && answer.status == http.StatusRequestedRangeNotSatisfiable {
		o, err = s.Head(bucket, key) // there is no range in an empty object
		return nil, o, err
	}
	return data, o, err
}

func (f *s3Object) identify() {
	f.id = fmt.Sprintf("s3://%s/%s %d %s", f.bucket, f.key, f.size, f.etag)
}

// Size implements Source.
func (f *s3Object) Size() int64 { return f.size }

// ID implements Source.
func (f *s3Object) ID() string { return f.id }

// Close implements Source.
func (f *s3Object) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.block > 0 && !f.closed {
		f.s.active.Add(-1)
		for _, key := range f.held {
			f.s.blocks.finish(key)
		}
	}
	f.closed = true
	return nil
}

// ReadAt implements io.ReaderAt.
func (f *s3Object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	read := 0
	for read < len(p) && off < f.size {
		n, err := f.readSome(p[read:], off)
		if err != nil {
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

// readSome reads bytes of the head or of one block.
func (f *s3Object) readSome(p []byte, off int64) (int, error) {
	if off < headSize {
		data, err := f.head()
		if err != nil {
			return 0, err
		}
		return copy(p, data[off:]), nil
	}
	key, ahead := f.place(off, int64(len(p)))
	k, isNew := f.s.blocks.find(key, true)
	if isNew {
		f.load(k)
	}
	defer f.s.blocks.release(k)
	if ahead {
		f.readAhead(key)
	}
	<-k.ready
	if k.err != nil {
		return 0, k.err
	}
	return copy(p, k.data[off-key.off:key.n]), nil
}

// head is the beginning of the object.
func (f *s3Object) head() ([]byte, error) {
	if data := f.s.heads.get(f.id); data != nil {
		return data, nil
	}
	data, err := f.s.read(f.bucket, f.object(), 0, make([]byte, min(headSize, f.size)))
	if err == nil {
		f.s.heads.put(f.id, data)
	}
	return data, err
}

func (f *s3Object) object() *Object { return &Object{Key: f.key, Size: f.size, ETag: f.etag} }

// place is the block for a read, and whether the one behind it is to be fetched too.
func (f *s3Object) place(off, n int64) (key blockKey, ahead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.block == 0 {
		f.block = f.share(f.s.active.Add(1))
	}
	if off >= f.last.off && off < f.last.off+f.last.n {
		f.next = max(f.next, off+n)
		return f.last, false
	}
	size := f.block
	if off != f.next && off != f.last.off+f.last.n && n < minBlock && f.small < maxSmall {
		f.small++
		size = min(size, minBlock)
	}
	start := headSize + (off-headSize)/size*size
	key = blockKey{f.id, start, min(size, f.size-start)}
	ahead = start == f.last.off+f.last.n && start+key.n < f.size
	if f.last.n > 0 {
		f.s.blocks.finish(f.last)
	}
	f.last, f.next = key, off+n
	f.held = append(f.held[max(0, len(f.held)-2):], key)
	return key, ahead
}

// share is the largest size of blocks of which every active source can have two, in
// powers of two of the smallest.
func (f *s3Object) share(active int64) int64 {
	size := f.s.set.Block
	for size > minBlock && 2*active*size > f.s.set.Cache {
		size /= 2
	}
	return max(size, minBlock)
}

// readAhead fetches the block behind one, if there is room for it without taking it from
// other readers.
func (f *s3Object) readAhead(key blockKey) {
	start := key.off + key.n
	f.fetch(blockKey{f.id, start, min(key.n, f.size-start)})
}

// prefetch fetches the first block of a piece that will be read from its beginning to its
// end, as readAhead does.
func (f *s3Object) prefetch(off, n int64) {
	end := min(off+n, f.size)
	if off = max(off, headSize); off >= end {
		return
	}
	f.mu.Lock()
	if f.block == 0 {
		f.block = f.share(f.s.active.Add(1))
	}
	f.next = off
	start := headSize + (off-headSize)/f.block*f.block
	key := blockKey{f.id, start, min(f.block, f.size-start)}
	f.mu.Unlock()
	f.fetch(key)
}

// fetch begins to read a block, if there is room for it without taking it from other
// readers.
func (f *s3Object) fetch(next blockKey) {
	k, isNew := f.s.blocks.find(next, false)
	if k == nil {
		return
	}
	if !isNew {
		f.s.blocks.release(k)
		return
	}
	f.mu.Lock()
	f.held = append(f.held, next)
	f.mu.Unlock()
	go func() {
		defer f.s.blocks.release(k)
		f.load(k)
	}()
}

// load reads a block from the server.
func (f *s3Object) load(k *block) {
	_, err := f.s.read(f.bucket, f.object(), k.key.off, k.data[:k.key.n])
	f.s.blocks.loaded(k, err)
}

// read fills data with the bytes of an object from off on. Without a known size it
// reads as many as there are, and tells what the object is. An answer that ends too
// early is continued from where it stopped.
func (s *s3) read(bucket string, o *Object, off int64, data []byte) ([]byte, error) {
	got := 0
	err := s.retry(func() (bool, error) {
		n, err := s.readOnce(bucket, o, off+int64(got), data[got:])
		if got += n; err == nil && o.Size < off+int64(len(data)) {
			data = data[:o.Size-off]
		}
		return n > 0 && n >= len(data)/16, err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// readOnce is one request of read.
func (s *s3) readOnce(bucket string, o *Object, off int64, data []byte) (int, error) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	idle := time.AfterFunc(readTimeout, func() { cancel(errIdle) })
	defer idle.Stop()

	var opt minio.GetObjectOptions
	opt.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(data))-1))
	if o.ETag != "" {
		opt.Set("If-Match", `"`+o.ETag+`"`)
	}
	body, now, header, err := s.core.GetObject(ctx, bucket, o.Key, opt)
	if err != nil {
		if answer := status(err); answer != nil && o.ETag != "" {
			switch answer.status {
			case http.StatusPreconditionFailed:
				return 0, s.changed(bucket, o, "")
			case http.StatusRequestedRangeNotSatisfiable:
				return 0, s.changed(bucket, o, "")
			}
		}
		return 0, cmp.Or(context.Cause(ctx), err)
	}
	defer body.Close()
	size, err := answered(header, off)
	switch {
	case err != nil:
		return 0, err
	case o.ETag != "" && now.ETag != "" && now.ETag != o.ETag:
		return 0, s.changed(bucket, o, now.ETag)
	case o.Size >= 0 && size != o.Size:
		return 0, fmt.Errorf("%w (%d bytes when listed, %d now)", errChanged, o.Size, size)
	}
	o.Size, o.ETag, o.ModTime = size, now.ETag, now.LastModified
	want := data[:min(int64(len(data)), size-off)]
	n := 0
	for n < len(want) {
		m, err := body.Read(want[n:])
		n += m
		idle.Reset(readTimeout)
		if n < len(want) && err != nil {
			// Its end is no end of the object, which would be io.ErrUnexpectedEOF.
			return n, fmt.Errorf("the answer ended after %d of %d bytes: %s", n, len(want), cmp.Or(context.Cause(ctx), err).Error())
		}
	}
	return n, nil
}

// answered is the size of the whole object in an answer to a request for a range that
// begins at off.
func answered(h http.Header, off int64) (size int64, err error) {
	text := h.Get("Content-Range")
	if text == "" && off == 0 { // the whole object, which a server may send
		size, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
		if err != nil || size < 0 {
			return 0, fmt.Errorf("%w: no length", errBadAnswer)
		}
		return size, nil
	}
	span, whole, _ := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, _, _ := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if err == nil {
		size, err = strconv.ParseInt(whole, 10, 64)
	}
	if err != nil || start != off || size <= off {
		return 0, fmt.Errorf("%w: Content-Range %q for bytes from %d on", errBadAnswer, text, off)
	}
	return size, nil
}

// changed is the error for an object that is another by now.
func (s *s3) changed(bucket string, o *Object, etag string) error {
	if etag == "" {
		now, err := s.Head(bucket, o.Key)
		if err != nil {
			return fmt.Errorf("%w (ETag %s when listed; now: %w)", errChanged, shortTag(o.ETag), err)
		}
		etag = now.ETag
	}
	return fmt.Errorf("%w (ETag %s when listed, %s now)", errChanged, shortTag(o.ETag), shortTag(etag))
}

// shortTag is the beginning of an ETag, enough to tell two apart.
func shortTag(etag string) string {
	if len(etag) > 6 {
		return etag[:4] + ".."
	}
	return etag
}
