package store

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/guard"
	"dumptool/internal/lang"
)

// List implements Objects. Several folders are listed concurrently, because the pages of one
// listing can only be fetched one after the other.
func (s *s3) List(bucket, prefix string, shallow bool) ([]Object, []string, error) {
	objects, prefixes, err := s.fetchPages(bucket, prefix, "/")
	for !shallow && err == nil && len(prefixes) == 1 { // a folder with only a folder in it
		var more []Object
		more, prefixes, err = s.fetchPages(bucket, prefixes[0], "/")
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
				below[i], _, err = s.fetchPages(bucket, p, "")
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

// HasPrefix implements Objects.
func (s *s3) HasPrefix(bucket, prefix string) (found bool, err error) {
	err = s.eachPage(bucket, prefix, "", 1, func(page *minio.ListBucketV2Result) bool {
		found = slices.ContainsFunc(page.Contents, func(o minio.ObjectInfo) bool { return strings.HasPrefix(o.Key, prefix) })
		return !found
	})
	return found, s.explainList(prefix, err)
}

// fetchPages fetches all pages of a listing, a thousand objects each.
func (s *s3) fetchPages(bucket, prefix, delimiter string) (objects []Object, prefixes []string, err error) {
	err = s.eachPage(bucket, prefix, delimiter, 1000, func(page *minio.ListBucketV2Result) bool {
		for i := range page.Contents {
			if o := toObject(&page.Contents[i]); strings.HasPrefix(o.Key, prefix) {
				objects = append(objects, o)
			}
		}
		for _, p := range page.CommonPrefixes {
			// A prefix that is not longer would be listed forever.
			if strings.HasPrefix(p.Prefix, prefix) && len(p.Prefix) > len(prefix) {
				prefixes = append(prefixes, p.Prefix)
			}
		}
		return true
	})
	slices.Sort(prefixes)
	return objects, slices.Compact(prefixes), err // some servers repeat a prefix on the next page
}

// eachPage calls visit for the pages of a listing until it returns false.
func (s *s3) eachPage(bucket, prefix, delimiter string, most int, visit func(*minio.ListBucketV2Result) bool) error {
	var trail pageTrail
	for token := ""; ; {
		page, err := s.requestPage(bucket, prefix, token, delimiter, most)
		if err != nil {
			return err
		}
		if !visit(&page) || !page.IsTruncated {
			return nil
		}
		first := ""
		if len(page.Contents) > 0 {
			first = page.Contents[0].Key
		} else if len(page.CommonPrefixes) > 0 {
			first = page.CommonPrefixes[0].Prefix
		}
		token = page.NextContinuationToken
		if err := trail.recordPage(first, token); err != nil {
			return err
		}
	}
}

// maxIdlePages bounds consecutive pages without a new name. Some servers send empty pages before
// the last one, and some repeat a folder with many objects.
const maxIdlePages = 100

// pageTrail detects listings that never end.
type pageTrail struct {
	tokens, firsts map[[sha256.Size]byte]bool // digests, because a server may send long names
	idlePages      int                        // pages since the last page with something new
}

// recordPage records the first name on a page, empty for none, and the token of the next page. It
// returns an error if the listing repeats itself.
func (c *pageTrail) recordPage(first, token string) error {
	if c.tokens == nil {
		c.tokens, c.firsts = map[[sha256.Size]byte]bool{}, map[[sha256.Size]byte]bool{sha256.Sum256(nil): true}
	}
	name, next := sha256.Sum256([]byte(first)), sha256.Sum256([]byte(token))
	if c.idlePages++; !c.firsts[name] {
		c.idlePages = 0
	}
	switch {
	case c.tokens[next]:
		return lang.Errorf("%w: a page of the listing leads back to an earlier one", errBadAnswer)
	case c.idlePages >= maxIdlePages:
		return lang.Errorf("%w: %d successive pages of the listing contain nothing new, and more pages are announced", errBadAnswer, maxIdlePages)
	}
	c.firsts[name], c.tokens[next] = true, true
	return nil
}

// requestPage requests one page of a listing, of at most `most` keys.
func (s *s3) requestPage(bucket, prefix, token, delimiter string, most int) (page minio.ListBucketV2Result, err error) {
	err = s.retry(func() (bool, error) {
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
		page, err = s.core.ListObjectsV2(bucket, prefix, "", token, delimiter, most)
		return false, err
	})
	return page, err
}

// explainList is explain for listings, where only the bucket can be missing.
func (s *s3) explainList(prefix string, err error) error {
	if answer := statusOf(err); answer != nil && answer.status == http.StatusNotFound {
		answer.code = "NoSuchBucket"
	}
	if prefix == "" {
		prefix = "the bucket"
	}
	return s.explain("list "+prefix, err)
}
