package dumpconf

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release such as 8.0, 8.0.RC3 or 2.3.1. The zero value stands
// for the newest release.
type Version struct {
	Major, Minor int
	// Candidate is the number of a release candidate, 0 for the release.
	Candidate int
}

// ParseVersion reads "8.0", "8.0.RC3", "2.3.1" or "8"; what follows the second
// number counts only when it is a release candidate.
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(strings.TrimPrefix(strings.ToLower(text), "r"), ".")
	var v Version
	var err error
	if v.Major, err = strconv.Atoi(parts[0]); err != nil || v.Major < 1 {
		return Version{}, fmt.Errorf("version %q: wanted a form like 8.0, 8.0.RC3 or 2.4", text)
	}
	for i, part := range parts[1:] {
		rc, isRC := strings.CutPrefix(part, "rc")
		n, err := strconv.Atoi(rc)
		switch {
		case err != nil || n < 0 || isRC && i == 0:
			return Version{}, fmt.Errorf("version %q: wanted a form like 8.0, 8.0.RC3 or 2.4", text)
		case isRC:
			v.Candidate = n
		case i == 0:
			v.Minor = n
		}
	}
	return v, nil
}

// IsNewest reports whether v is the zero value.
func (v Version) IsNewest() bool { return v == Version{} }

// Before reports whether v is an earlier release than w. The newest release
// is before none.
func (v Version) Before(w Version) bool {
	if v.IsNewest() {
		return false
	}
	if w.IsNewest() {
		return true
	}
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor),
		cmp.Compare(v.candidate(), w.candidate())) < 0
}

// lacks reports whether v is too early for what came with w. Where only the
// release is known, its candidates have it too.
func (v Version) lacks(w Version) bool {
	if w.Candidate == 0 && v.Major == w.Major && v.Minor == w.Minor {
		return false
	}
	return v.Before(w)
}

// candidate orders release candidates before the release.
func (v Version) candidate() int {
	if v.Candidate == 0 {
		return 1 << 30
	}
	return v.Candidate
}

// String writes the version as it is read.
func (v Version) String() string {
	switch {
	case v.IsNewest():
		return "newest"
	case v.Candidate != 0:
		return fmt.Sprintf("%d.%d.RC%d", v.Major, v.Minor, v.Candidate)
	default:
		return fmt.Sprintf("%d.%d", v.Major, v.Minor)
	}
}
