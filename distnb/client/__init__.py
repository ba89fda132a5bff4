"""The notebook side: sessions, arrays, and how engines are started and reached."""
