package store

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/lang"
)

// read fills data with the bytes of an object from off on. If the size is unknown, it reads up to
// the end and sets size, ETag and time in o. If the MD5 of a whole object does not match, it reads
// once more.
func (s *s3) read(bucket string, o *Object, off int64, data []byte) ([]byte, error) {
	for isFirst := true; ; isFirst = false {
		got, err := s.readRange(bucket, o, off, data)
		if err != nil || off > 0 || int64(len(got)) < o.Size || !o.hasMD5 {
			return got, err
		}
		sum := md5.Sum(got)
		if err = o.compareSum(sum[:]); err == nil || !isFirst {
			return got, err
		}
	}
}

// readRange is read without the comparison of the MD5. After a truncated response it continues at
// the first missing byte.
func (s *s3) readRange(bucket string, o *Object, off int64, data []byte) ([]byte, error) {
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

// readOnce makes one request of readRange.
func (s *s3) readOnce(bucket string, o *Object, off int64, data []byte) (int, error) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	var opt minio.GetObjectOptions
	opt.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(data))-1))
	if o.ETag != "" {
		opt.Set("If-Match", `"`+o.ETag+`"`)
	}
	body, now, header, err := s.core.GetObject(context.Background(), bucket, o.Key, opt)
	if err != nil {
		if answer := statusOf(err); answer != nil && o.ETag != "" {
			switch answer.status {
			case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
				return 0, s.changedError(bucket, o, "")
			}
		}
		return 0, err
	}
	defer body.Close()
	size, err := objectSize(header, off)
	switch {
	case err != nil:
		return 0, err
	case o.ETag != "" && now.ETag != "" && now.ETag != o.ETag:
		return 0, s.changedError(bucket, o, now.ETag)
	case o.Size >= 0 && size != o.Size:
		return 0, lang.Errorf("%w (%d bytes when listed, %d now)", errChanged, o.Size, size)
	}
	o.Size, o.ETag, o.ModTime = size, now.ETag, now.LastModified
	o.hasMD5 = isMD5(o.ETag) && !isEncrypted(header) && !strings.HasSuffix(bucket, directoryBucket)
	want := data[:min(int64(len(data)), size-off)]
	n := 0
	for n < len(want) {
		m, err := body.Read(want[n:])
		n += m
		if n < len(want) && err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errors.New(err.Error()) // not the end of the object
			}
			return n, lang.Errorf("the answer ended after %d of %d bytes: %w", n, len(want), err)
		}
	}
	return n, nil
}

var (
	// errChanged is wrapped by errors about objects that changed since they were listed or opened.
	errChanged = lang.Errorf("the object changed while it was read")
	// errSum is wrapped by errors about objects whose MD5 does not match.
	errSum = lang.Errorf("the received bytes differ from the object")
	// errBadAnswer is wrapped by errors about invalid HTTP responses.
	errBadAnswer = lang.Errorf("the server's answer is wrong")
)

// objectSize returns the size of the whole object from the response to a range request that begins at
// off.
func objectSize(h http.Header, off int64) (size int64, err error) {
	text := h.Get("Content-Range")
	if text == "" && off == 0 { // a server may send the whole object
		size, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
		if err != nil || size < 0 {
			return 0, lang.Errorf("%w: no length", errBadAnswer)
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
		return 0, lang.Errorf("%w: Content-Range %q for bytes from %d on", errBadAnswer, text, off)
	}
	return size, nil
}

// changedError returns the error for an object that has changed.
func (s *s3) changedError(bucket string, o *Object, etag string) error {
	if etag == "" {
		now, err := s.Head(bucket, o.Key)
		if err != nil {
			return lang.Errorf("%w (ETag %s when listed; now: %w)", errChanged, shortTag(o.ETag), err)
		}
		etag = now.ETag
	}
	return lang.Errorf("%w (ETag %s when listed, %s now)", errChanged, shortTag(o.ETag), shortTag(etag))
}

// shortTag shortens an ETag to its first characters.
func shortTag(etag string) string {
	if len(etag) > 6 {
		return etag[:4] + ".."
	}
	return etag
}
