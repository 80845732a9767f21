package store

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/lang"
)

// AbortStale removes unfinished uploads at and below a remote path that began before a time, such
// as uploads of killed processes. It returns the removed uploads and the first error.
func AbortStale(path string, before time.Time) ([]Upload, error) {
	l, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	s, ok := l.objects.(*s3)
	if !ok {
		return nil, l.wrapError(lang.Errorf("this storage does not support uploads in parts"))
	}
	removed, err := s.abortStale(l.bucket, l.prefix(), before)
	for i := range removed {
		removed[i].Path = schemeOf(path) + l.bucket + "/" + removed[i].Path
	}
	return removed, l.wrapError(err)
}

// Upload is an unfinished upload of an object. Its parts take space, and no listing of objects
// shows them.
type Upload struct {
	Path  string
	Begun time.Time // by the clock of the server
}

// abortStale removes the unfinished uploads of keys with a prefix.
func (s *s3) abortStale(bucket, prefix string, before time.Time) (removed []Upload, err error) {
	stale, err := s.unfinishedUploads(bucket, prefix)
	if err != nil {
		return nil, s.explainList(prefix, err)
	}
	for _, u := range stale {
		if !u.Initiated.Before(before) {
			continue
		}
		if err := s.abortUpload(bucket, u.Key, u.UploadID); err != nil {
			return removed, s.explain("end an upload of "+u.Key, err)
		}
		removed = append(removed, Upload{u.Key, u.Initiated})
	}
	return removed, nil
}

// unfinishedUploads lists unfinished uploads of keys with a prefix. Some servers, such as MinIO, treat the
// prefix as a whole key: if none are found, uploads lists the whole bucket, if allowed.
func (s *s3) unfinishedUploads(bucket, prefix string) ([]minio.ObjectMultipartInfo, error) {
	all, err := s.listUploads(bucket, prefix)
	if err != nil || len(all) > 0 || prefix == "" {
		return all, err
	}
	all, err = s.listUploads(bucket, "")
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(u minio.ObjectMultipartInfo) bool { return !strings.HasPrefix(u.Key, prefix) }), err
}

// listUploads makes one listing of uploads.
func (s *s3) listUploads(bucket, prefix string) (all []minio.ObjectMultipartInfo, err error) {
	var trail pageTrail
	for key, id := "", ""; ; {
		var page minio.ListMultipartUploadsResult
		err := s.retryRequest(headTimeout, func(ctx context.Context) (err error) {
			page, err = s.core.ListMultipartUploads(ctx, bucket, prefix, key, id, "", 1000)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Uploads...)
		if !page.IsTruncated {
			return all, nil
		}
		key, id = page.NextKeyMarker, page.NextUploadIDMarker
		first := ""
		if len(page.Uploads) > 0 {
			first = page.Uploads[0].Key + "\x00" + page.Uploads[0].UploadID
		}
		if err := trail.recordPage(first, key+"\x00"+id); err != nil {
			return nil, err
		}
	}
}
