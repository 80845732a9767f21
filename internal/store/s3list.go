package store

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/guard"
)

// List implements Objects. What lies below several folders is listed folder by folder,
// several at the same time: one listing can only be asked for page by page.
func (s *s3) List(bucket, prefix string, shallow bool) ([]Object, []string, error) {
	objects, prefixes, err := s.pages(bucket, prefix, "/")
	for !shallow && err == nil && len(prefixes) == 1 { // a folder in a folder
		var more []Object
		more, prefixes, err = s.pages(bucket, prefixes[0], "/")
		objects = append(objects, more...)
	}
	if err != nil {
		return nil, nil, s.explainList(prefix, err)
	}
	if !shallow {
		below, errs := make([][]Object, len(prefixes)), make([]error, len(prefixes))
		var listed sync.WaitGroup
		lists := make(chan struct{}, s.set.Concurrency)
		for i, p := range prefixes {
			lists <- struct{}{}
			listed.Add(1)
			guard.Go(func() (err error) {
				below[i], _, err = s.pages(bucket, p, "")
				return s.explainList(p, err)
			}, func(err error) {
				errs[i] = err
				<-lists
				listed.Done()
			})
		}
		listed.Wait()
		if err := cmp.Or(errs...); err != nil {
			return nil, nil, err
		}
		objects, prefixes = slices.Concat(append(below, objects)...), nil
	}
	slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(objects, func(a, b Object) bool { return a.Key == b.Key }), prefixes, nil
}

// Any implements Objects. Pages that are empty and not the last one are seen at some
// servers.
func (s *s3) Any(bucket, prefix string) (bool, error) {
	for token := ""; ; {
		page, err := s.page(bucket, prefix, token, "", 1)
		if err != nil {
			return false, s.explainList(prefix, err)
		}
		for i := range page.Contents {
			if o := object(&page.Contents[i]); strings.HasPrefix(o.Key, prefix) {
				return true, nil
			}
		}
		if !page.IsTruncated || page.NextContinuationToken == token {
			return false, nil
		}
		token = page.NextContinuationToken
	}
}

// pages lists all pages of a prefix, a thousand objects each.
func (s *s3) pages(bucket, prefix, delimiter string) (objects []Object, prefixes []string, err error) {
	for token := ""; ; {
		page, err := s.page(bucket, prefix, token, delimiter, 1000)
		if err != nil {
			return nil, nil, err
		}
		for i := range page.Contents {
			if o := object(&page.Contents[i]); strings.HasPrefix(o.Key, prefix) {
				objects = append(objects, o)
			}
		}
		for _, p := range page.CommonPrefixes {
			// What is not longer would be listed for ever.
			if strings.HasPrefix(p.Prefix, prefix) && len(p.Prefix) > len(prefix) {
				prefixes = append(prefixes, p.Prefix)
			}
		}
		switch {
		case !page.IsTruncated:
			slices.Sort(prefixes)
			return objects, slices.Compact(prefixes), nil // some servers repeat one on the next page
		case page.NextContinuationToken == token || len(page.Contents)+len(page.CommonPrefixes) == 0:
			return nil, nil, fmt.Errorf("%w: a page of the listing does not lead to the next one", errBadAnswer)
		}
		token = page.NextContinuationToken
	}
}

// page is one request of a listing, of at most a number of keys.
func (s *s3) page(bucket, prefix, token, delimiter string, most int) (page minio.ListBucketV2Result, err error) {
	err = s.retry(func() (bool, error) {
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
		page, err = s.core.ListObjectsV2(bucket, prefix, "", token, delimiter, most)
		return false, err
	})
	return page, err
}

// explainList is explain for listings, where nothing but the bucket can be missing.
func (s *s3) explainList(prefix string, err error) error {
	if answer := status(err); answer != nil && answer.status == http.StatusNotFound {
		answer.code = "NoSuchBucket"
	}
	if prefix == "" {
		prefix = "the bucket"
	}
	return s.explain("list "+prefix, err)
}
