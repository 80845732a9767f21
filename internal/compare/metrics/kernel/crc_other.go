//go:build !amd64 || purego

package kernel

func crcHead(crc uint32, _ []byte) (head uint32, done int) { return crc, 0 }
