package config

import (
	"fmt"
	"time"
)

// text returns a YAML scalar as it would be written on a command line.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case time.Time:
		// What looks like a date becomes one; it was meant as a word.
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(v)
	}
}
