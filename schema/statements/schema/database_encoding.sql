select getdatabaseencoding()
