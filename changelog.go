// Package dumptool holds the texts that the program embeds.
package dumptool

import (
	_ "embed"
	"strings"
)

//go:embed CHANGELOG.md
var changelog string

// Release returns the number of the release, the newest heading of CHANGELOG.md, such as 0.2.0.
func Release() string {
	_, heading, _ := strings.Cut(changelog, "\n## ")
	release, _, _ := strings.Cut(heading, "\n")
	return strings.TrimSpace(release)
}
