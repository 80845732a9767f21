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

// read fills data with the bytes of an object from off on. Without a known size it
// reads as many as there are, and tells what the object is. A whole object that is not what
// its MD5 says is read once more.
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

// readRange is read without a look at the MD5. An answer that ends too early is continued
// from where it stopped.
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

// readOnce is one request of read.
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
		if answer := status(err); answer != nil && o.ETag != "" {
			switch answer.status {
			case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
				return 0, s.changed(bucket, o, "")
			}
		}
		return 0, err
	}
	defer body.Close()
	size, err := answered(header, off)
	switch {
	case err != nil:
		return 0, err
	case o.ETag != "" && now.ETag != "" && now.ETag != o.ETag:
		return 0, s.changed(bucket, o, now.ETag)
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
				err = errors.New(err.Error()) // it is no end of the object
			}
			return n, lang.Errorf("the answer ended after %d of %d bytes: %w", n, len(want), err)
		}
	}
	return n, nil
}

var (
	// errChanged is wrapped by errors about objects that are others by now.
	errChanged = lang.Errorf("the object changed while it was read")
	// errSum is wrapped by errors about objects that are not what their MD5 says.
	errSum = lang.Errorf("other bytes came than the object has")
	// errBadAnswer is wrapped by errors about answers that break the rules of HTTP.
	errBadAnswer = lang.Errorf("the server's answer is wrong")
)

// answered is the size of the whole object in an answer to a request for a range that
// begins at off.
func answered(h http.Header, off int64) (size int64, err error) {
	text := h.Get("Content-Range")
	if text == "" && off == 0 { // the whole object, which a server may send
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

// changed is the error for an object that is another by now.
func (s *s3) changed(bucket string, o *Object, etag string) error {
	if etag == "" {
		now, err := s.Head(bucket, o.Key)
		if err != nil {
			return lang.Errorf("%w (ETag %s when listed; now: %w)", errChanged, shortTag(o.ETag), err)
		}
		etag = now.ETag
	}
	return lang.Errorf("%w (ETag %s when listed, %s now)", errChanged, shortTag(o.ETag), shortTag(etag))
}

// shortTag is the beginning of an ETag, enough to tell two apart.
func shortTag(etag string) string {
	if len(etag) > 6 {
		return etag[:4] + ".."
	}
	return etag
}
