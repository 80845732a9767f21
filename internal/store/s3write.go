package store

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/guard"
	"dumptool/internal/lang"
)

// upload is an object being written. Until it is larger than a part it stays in memory; then full
// parts are sent. One goroutine calls Write and Commit.
type upload struct {
	s           *s3
	bucket, key string
	isNew       bool // must not replace another object

	part     []byte
	size     int64  // bytes written
	id       string // upload id, empty before the first part is sent
	parts    int    // number of parts
	inFlight sync.WaitGroup
	slots    chan struct{}
	closed   bool

	mu   sync.Mutex
	sent map[int]string // ETags of parts by number
	err  error          // first failure
}

// An object is uploaded in parts of partSize, after the first manyParts in parts of largePart,
// because a server accepts at most maxParts.
const (
	partSize  = 8 << 20
	largePart = 64 << 20
	manyParts = 1000
	maxParts  = 10000

	// partsBudget bounds the bytes of parts in flight while the next parts fill.
	partsBudget = 32 << 20
	// partsInFlight bounds the parts of one object in flight.
	partsInFlight = 2
	// maxFree bounds the unused buffers.
	maxFree = 8
)

// Create implements Objects.
func (s *s3) Create(bucket, key string, isNew bool) (Writer, error) {
	return &upload{s: s, bucket: bucket, key: key, isNew: isNew, sent: map[int]string{}, slots: make(chan struct{}, partsInFlight)}, nil
}

// partSizeOf returns the size of a part.
func partSizeOf(part int) int {
	if part <= manyParts {
		return partSize
	}
	return largePart
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.closed {
		return 0, fs.ErrClosed
	}
	written := 0
	for written < len(p) {
		if err := u.failed(); err != nil {
			return written, err
		}
		size := partSizeOf(u.parts + 1)
		n := min(len(p)-written, size-len(u.part))
		u.grow(len(u.part)+n, size)
		u.part = append(u.part, p[written:written+n]...)
		written += n
		u.size += int64(n)
		if len(u.part) == size {
			if err := u.send(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// grow makes room for n bytes in the part; small objects get small buffers.
func (u *upload) grow(n, size int) {
	if n <= cap(u.part) {
		return
	}
	room := size
	for _, small := range []int{64 << 10, 1 << 20} {
		if n <= small {
			room = small
			break
		}
	}
	old := u.part
	u.part = append(u.s.parts.takeBuffer(room), old...)
}

func (u *upload) failed() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

func (u *upload) fail(err error) error {
	if err == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err == nil {
		u.err = u.s.explain("write "+u.key, err)
	}
	return u.err
}

// send starts to upload the part, or uploads it at once if memory is short.
func (u *upload) send() error {
	if u.id == "" {
		err := u.s.retryRequest(headTimeout, func(ctx context.Context) (err error) {
			u.id, err = u.s.core.NewMultipartUpload(ctx, u.bucket, u.key, minio.PutObjectOptions{})
			return err
		})
		if err != nil {
			return u.fail(err)
		}
	}
	if u.parts == maxParts {
		return u.fail(lang.Errorf("more than %d GiB, the most that an object can have", (manyParts*partSize+(maxParts-manyParts)*largePart)>>30))
	}
	u.parts++
	number, part := u.parts, u.part
	if !u.s.parts.reserve(int64(cap(part))) {
		u.inFlight.Wait()
		u.part = nil
		if u.sendPart(number, part) {
			u.part = part[:0]
		}
		return u.failed()
	}
	u.slots <- struct{}{}
	u.inFlight.Add(1)
	guard.Go(func() error {
		if u.sendPart(number, part) {
			u.s.parts.reuse(part)
		}
		return nil
	}, func(err error) {
		_ = u.fail(err) // reported by the next call
		u.s.parts.release(int64(cap(part)))
		<-u.slots
		u.inFlight.Done()
	})
	u.part = nil
	return nil
}

// sendPart uploads a part in one piece with its hashes in the header: the client library would
// stream signed chunks, which some servers store as data. It reports whether the part has arrived.
func (u *upload) sendPart(number int, part []byte) bool {
	if u.failed() != nil {
		return false
	}
	md5Sum, shaSum := hashes(part)
	var sent minio.ObjectPart
	err := u.s.retryRequest(writeTimeout, func(ctx context.Context) (err error) {
		sent, err = u.s.core.PutObjectPart(ctx, u.bucket, u.key, u.id, number, bytes.NewReader(part), int64(len(part)),
			minio.PutObjectPartOptions{Md5Base64: md5Sum, Sha256Hex: shaSum, DisableContentSha256: true})
		return err
	})
	if err != nil {
		_ = u.fail(err) // reported by the next call
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent[number] = sent.ETag
	return true
}

// Commit implements Writer.
func (u *upload) Commit() error {
	if u.closed {
		return fs.ErrClosed
	}
	err := u.failed()
	switch {
	case err != nil:
	case u.id == "":
		err = u.fail(u.putWhole())
	default:
		if len(u.part) > 0 {
			err = u.send()
		}
		u.inFlight.Wait()
		if err == nil {
			err = u.failed()
		}
		if err == nil {
			err = u.fail(u.complete())
		}
	}
	if err != nil {
		u.Abort()
		return err
	}
	u.close(true)
	return nil
}

// putWhole uploads an object smaller than a part.
func (u *upload) putWhole() error {
	md5Sum, shaSum := hashes(u.part)
	return u.createObject(func(ctx context.Context, opt minio.PutObjectOptions) error {
		opt.DisableContentSha256 = true
		_, err := u.s.core.PutObject(ctx, u.bucket, u.key, bytes.NewReader(u.part), int64(len(u.part)), md5Sum, shaSum, opt)
		return err
	}, func(etag string) bool {
		sum := md5.Sum(u.part)
		return strings.EqualFold(etag, hex.EncodeToString(sum[:]))
	})
}

// complete completes the upload. A server can fail after status 200, and its response can be lost:
// the request is repeated, and if the upload no longer exists then, isThere decides.
func (u *upload) complete() error {
	parts := make([]minio.CompletePart, u.parts)
	for i := range parts {
		parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: u.sent[i+1]}
	}
	isOurs := func(etag string) bool { return strings.HasSuffix(etag, "-"+strconv.Itoa(u.parts)) }
	return u.createObject(func(ctx context.Context, opt minio.PutObjectOptions) error {
		_, err := u.s.core.CompleteMultipartUpload(ctx, u.bucket, u.key, u.id, parts, opt)
		if answer := statusOf(err); answer != nil && answer.status == http.StatusNotFound && u.isThere(ctx, isOurs) {
			return nil
		}
		return err
	}, isOurs)
}

// isThere reports whether the object exists with the expected size and ETag.
func (u *upload) isThere(ctx context.Context, isOurs func(etag string) bool) bool {
	now, err := u.s.core.StatObject(ctx, u.bucket, u.key, minio.StatObjectOptions{})
	return err == nil && now.Size == u.size && isOurs(toObject(&now).ETag)
}

// createObject makes the request that creates the object. With isNew it sends If-None-Match. Some
// servers refuse or ignore this header: createObject also checks for the object before, and repeats
// a refused request without the header. After a lost response an existing object may be our own.
func (u *upload) createObject(do func(context.Context, minio.PutObjectOptions) error, isOurs func(etag string) bool) error {
	var opt minio.PutObjectOptions
	if u.isNew {
		err := u.s.retryRequest(headTimeout, func(ctx context.Context) error {
			_, err := u.s.core.StatObject(ctx, u.bucket, u.key, minio.StatObjectOptions{})
			return err
		})
		if err == nil {
			return errExists
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // without permission to read, the object stays unknown
			return err
		}
		opt.SetMatchETagExcept("*")
	}
	tries := 0
	request := func(ctx context.Context) error {
		tries++
		err := do(ctx, opt)
		if answer := statusOf(err); answer != nil && u.isNew && answer.status == http.StatusPreconditionFailed {
			if tries > 1 && u.isThere(ctx, isOurs) {
				return nil
			}
			return errExists
		}
		return err
	}
	err := u.s.retryRequest(writeTimeout, request)
	if answer := statusOf(err); answer != nil && u.isNew && answer.status == http.StatusNotImplemented {
		u.s.noteUnconditional()
		opt = minio.PutObjectOptions{}
		err = u.s.retryRequest(writeTimeout, request)
	}
	return err
}

// Abort implements Writer.
func (u *upload) Abort() {
	if u.closed {
		return
	}
	u.inFlight.Wait() // a part that arrives later would stay
	if u.id != "" {
		_ = u.s.abortUpload(u.bucket, u.key, u.id) // the caller has a better error, or discards the object
	}
	u.close(false)
}

// close ends the upload. Its buffer is reused only if no request has failed.
func (u *upload) close(ok bool) {
	if ok {
		u.s.parts.reuse(u.part)
	}
	u.closed, u.part = true, nil
}

func hashes(data []byte) (md5Sum, shaSum string) {
	m, s := md5.Sum(data), sha256.Sum256(data)
	return base64.StdEncoding.EncodeToString(m[:]), hex.EncodeToString(s[:])
}

// errExists is the error of an object that would replace another one.
var errExists = lang.Errorf("an object of that name already exists%w", silentError{fs.ErrExist})

// noteUnconditional tells the user once that another process may have written the object between
// check and write.
func (s *s3) noteUnconditional() {
	s.unconditional.Do(func() {
		if s.set.Note != nil {
			s.set.Note(lang.Say("%s does not support If-None-Match: an existing object could only be detected before writing", s.endpoint))
		}
	})
}

// abortUpload removes the parts of an upload. A missing upload is no error.
func (s *s3) abortUpload(bucket, key, id string) error {
	err := s.retryRequest(headTimeout, func(ctx context.Context) error {
		return s.core.AbortMultipartUpload(ctx, bucket, key, id)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Writable implements Objects: it starts an upload and aborts it.
func (s *s3) Writable(bucket, key string) error {
	var id string
	err := s.retryRequest(headTimeout, func(ctx context.Context) (err error) {
		id, err = s.core.NewMultipartUpload(ctx, bucket, key, minio.PutObjectOptions{})
		return err
	})
	if err == nil {
		err = s.abortUpload(bucket, key, id)
	}
	return s.explain("write "+key, err)
}

// partBuffers are the buffers of uploads. Buffers in flight are counted; each upload has one more.
type partBuffers struct {
	mu   sync.Mutex
	left int64    // bytes that may still be in flight
	free [][]byte // of partSize bytes
}

// reserve reserves n bytes for a part in flight if they are left.
func (p *partBuffers) reserve(n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < n {
		return false
	}
	p.left -= n
	return true
}

// release releases the bytes of a part that has arrived or failed.
func (p *partBuffers) release(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left += n
}

// takeBuffer returns an empty buffer of a size.
func (p *partBuffers) takeBuffer(size int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 && size == partSize {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b[:0]
	}
	return make([]byte, 0, size)
}

// reuse keeps a buffer for another part. Nothing may read it any more: the transport may still read
// the buffer of a failed request.
func (p *partBuffers) reuse(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cap(b) == partSize && len(p.free) < maxFree {
		p.free = append(p.free, b)
	}
}
