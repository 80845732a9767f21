package store

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"strings"

	"dumptool/internal/lang"
)

// addToSum adds bytes to the MD5 of the bytes read before them, and compares it after the last
// byte. If it differs, all fetched data is dropped. Objects that are not read in order have no sum.
func (f *s3Object) addToSum(p []byte, off int64) error {
	f.mu.Lock()
	wasBroken := f.broken != nil
	if f.extendSum(p, off) && f.summed == f.size && f.sharedObject.hasMD5.Load() {
		if f.broken = f.object().compareSum(f.sum.Sum(nil)); f.broken == nil {
			f.sharedObject.compared.Store(true)
		}
	}
	broken := f.broken
	f.mu.Unlock()
	if broken != nil && !wasBroken {
		f.dropFetched()
	}
	return broken
}

// extendSum adds bytes to the sum if they are the next ones, and reports whether they are.
func (f *s3Object) extendSum(p []byte, off int64) bool {
	if f.broken != nil || f.sharedObject.compared.Load() || !isMD5(f.etag) || off > f.summed || off+int64(len(p)) <= f.summed {
		return false
	}
	if f.sum == nil {
		f.sum = md5.New()
	}
	f.sum.Write(p[f.summed-off:])
	f.summed = off + int64(len(p))
	return true
}

// dropFetched drops all fetched data of the object.
func (f *s3Object) dropFetched() {
	f.heading.Lock()
	f.head = nil
	f.heading.Unlock()
	f.s.heads.drop(f.id)
	f.s.blocks.dropInvalid(f.sharedObject, f.broken)
	f.disk.close()
}

// noteSum records whether the ETag is an MD5, and whether the whole object was compared.
func (f *s3Object) noteSum(o *Object, whole bool) {
	f.sharedObject.hasMD5.Store(o.hasMD5)
	if whole {
		f.sharedObject.compared.Store(true)
	}
}

// compareSum returns an error if the MD5 found is not the ETag.
func (o *Object) compareSum(found []byte) error {
	if text := hex.EncodeToString(found); !strings.EqualFold(text, o.ETag) {
		return lang.Errorf("%w: the MD5 of the received data is %s, the ETag of the object %s", errSum, text, o.ETag)
	}
	return nil
}

// isMD5 reports whether an ETag may be an MD5. ETags of objects in several parts have a dash.
func isMD5(etag string) bool {
	sum, err := hex.DecodeString(etag)
	return err == nil && len(sum) == md5.Size
}

// isEncrypted reports whether the encryption of an object changes its ETag: with keys of a service
// (aws:kms, kms) or of a customer; AES256 uses keys of the store and keeps the MD5.
func isEncrypted(h http.Header) bool {
	for _, vendor := range []string{"X-Amz", "X-Obs"} {
		method := h.Get(vendor + "-Server-Side-Encryption")
		if method != "" && method != "AES256" || h.Get(vendor+"-Server-Side-Encryption-Customer-Algorithm") != "" {
			return true
		}
	}
	return false
}

// directoryBucket ends the names of AWS buckets with random ETags.
const directoryBucket = "--x-s3"
